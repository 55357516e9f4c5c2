#!/usr/bin/env bash
# Everything that `make demo` and `make test` need, in .venv and .ros of this checkout.
# Uses the sourced ROS 2 (ROS_DISTRO), or else real ROS 2 wheels from PyPI.
# Leaves alone what is already set up: a stamp of all inputs decides.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$root/.venv"
ros="$root/.ros"
cd "$root"

# The official images name their ROS 2 without sourcing it.
if [ -n "${ROS_DISTRO:-}" ] && [ -z "${AMENT_PREFIX_PATH:-}" ] && [ -f "/opt/ros/$ROS_DISTRO/setup.bash" ]; then
  set +u; source "/opt/ros/$ROS_DISTRO/setup.bash"; set -u
fi

stamp() { # of the given files and of the ROS and Python in use
  { printf '%s\n' "${ROS_DISTRO:-wheels}" "$(python_version)"; cat "$@"; } | sha256sum | cut -d' ' -f1
}
python_version() { "${PYTHON:-python3}" -c 'import sys; print(sys.version)'; }
is_fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }
say() { printf '\033[1m%s\033[0m\n' "$*"; }
need() { command -v "$1" >/dev/null || { say "Missing: $1. On Debian or Ubuntu: sudo apt install $2"; exit 1; }; }

# ---- Python packages
pip_stamp="$(stamp pyproject.toml constraints.txt requirements-ros.txt)"
if ! is_fresh "$venv/.robot_sysid" "$pip_stamp"; then
  need "${PYTHON:-python3}" "python3 python3-venv python3-dev"
  "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    { say "Python 3.10 or newer is needed; set PYTHON=/path/to/python3."; exit 1; }
  if [ -n "${ROS_DISTRO:-}" ]; then say "Set-up with the sourced ROS 2 ($ROS_DISTRO)"; else say "Set-up with ROS 2 wheels from PyPI"; fi
  [ -x "$venv/bin/python" ] ||
    "${PYTHON:-python3}" -m venv ${ROS_DISTRO:+--system-site-packages} "$venv" ||
    { say "No virtual environment could be made. On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
  say "Installing Python packages (1-2 minutes the first time)"
  pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
  # A sourced ROS brings its own numpy, which its message bindings are built against: keep that one.
  if [ -n "${ROS_DISTRO:-}" ]; then pins=(); else pins=(--constraint constraints.txt); fi
  "${pip[@]}" "${pins[@]}" --editable '.[examples,dev]'
  if [ -z "${ROS_DISTRO:-}" ]; then
    "${pip[@]}" "${pins[@]}" --requirement requirements-ros.txt
    # The wheels carry the include paths of the machine that built them.
    include="$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
    numpy_include="$("$venv/bin/python" -c 'import numpy; print(numpy.get_include())')"
    [ -f "$include/Python.h" ] || { say "Missing: Python headers. On Debian or Ubuntu: sudo apt install python3-dev"; exit 1; }
    { grep -rlZ --include='*Export.cmake' '/opt/python/' "$venv"/share/*/cmake || true; } | xargs -0r sed -i -E \
      -e "s#/opt/python/cp3[0-9]+-cp3[0-9]+/include/python3\.[0-9]+#$include#g" \
      -e "s#/opt/python/cp3[0-9]+-cp3[0-9]+/lib/python3\.[0-9]+/site-packages/numpy/_core/include#$numpy_include#g"
  fi
  touch "$venv/COLCON_IGNORE"
  echo "$pip_stamp" > "$venv/.robot_sysid"
  rm -f "$ros/.stamp"
fi

# ---- messages and nodes
mapfile -t inputs < <(find msg srv action launch config scripts -type f | sort)
build_stamp="$(stamp package.xml CMakeLists.txt plugin.xml "${inputs[@]}")"
if ! is_fresh "$ros/.stamp" "$build_stamp"; then
  need cmake cmake
  need gcc "gcc g++"
  say "Building the ROS 2 interfaces (about 20 seconds)"
  # A workspace beside the venv: CMake refuses include paths (the venv's) inside the source folder.
  mkdir -p "$ros/src/robot_sysid" && touch "$ros/COLCON_IGNORE"
  for item in package.xml CMakeLists.txt robot_sysid_controllers msg srv action launch config scripts sysid_core sysid_fleet sysid_studies sysid_cli sysid_nodes sysid_demos sysid_monitor sysid_rqt plugin.xml test pyproject.toml; do
    ln -sfn "$root/$item" "$ros/src/robot_sysid/$item"
  done
  export PATH="$venv/bin:$PATH"
  if [ -z "${ROS_DISTRO:-}" ]; then export CMAKE_PREFIX_PATH="$venv" AMENT_PREFIX_PATH="$venv"; fi
  colcon --log-base "$ros/log" build --base-paths "$ros/src" --build-base "$ros/build" --install-base "$ros/install" \
    --event-handlers console_direct- --symlink-install \
    --cmake-args -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release "-DPython3_EXECUTABLE=$venv/bin/python" \
    > "$ros/build.log" 2>&1 || { tail -40 "$ros/build.log"; say "The build failed; the whole log is in .ros/build.log"; exit 1; }
  say "Compiling filters and servos (about 30 seconds)"  # kept by numba; their first use would wait for it
  (set +u; source scripts/env.sh; for room in sysid_nodes.data_logger.live_filtering sysid_core.servos.model; do
    python -c "from $room import warm_up; warm_up()"; done) ||
    say "The filters can't be compiled; \`source scripts/env.sh; sysid doctor\` says more."
  # Where Python is told to keep no bytecode, each of the many processes would compile all of it again.
  "$venv/bin/python" -m compileall -q sysid_*/ "$ros/install" || true
  echo "$build_stamp" > "$ros/.stamp"
fi
