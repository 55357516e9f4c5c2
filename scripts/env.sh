# Source this to use `sysid` and the nodes of this checkout in a shell: . scripts/env.sh
_root="$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)"
export PATH="$_root/.venv/bin:$PATH"
if [ -z "${ROS_DISTRO:-}" ]; then
  export RMW_IMPLEMENTATION="${RMW_IMPLEMENTATION:-rmw_fastrtps_cpp}"
  export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
fi
export COLCON_TRACE="${COLCON_TRACE:-}" AMENT_TRACE_SETUP_FILES="${AMENT_TRACE_SETUP_FILES:-}" COLCON_PYTHON_EXECUTABLE="$_root/.venv/bin/python"
. "$_root/.ros/install/setup.bash"
export PYTHONPATH="$_root:${PYTHONPATH:-}"  # the checkout itself, so that edits need no build
unset _root
