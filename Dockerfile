# robot_sysid with ROS 2: docker build -t robot_sysid --build-arg ROS_DISTRO=jazzy .   (or kilted)
#   docker run --rm -it --network host -v $PWD/results:/results robot_sysid sysid up demo --out /results/demo
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}
ARG ROS_DISTRO
RUN apt-get update && apt-get install -y --no-install-recommends \
        python3-venv python3-dev ros-${ROS_DISTRO}-rmw-fastrtps-cpp \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /ws
COPY . src/robot_sysid
# Python packages that rosdep has no keys for live in a virtual environment that sees ROS' own.
RUN apt-get update && rosdep update --rosdistro ${ROS_DISTRO} \
    && rosdep install -y -r -i --from-paths src && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv --system-site-packages venv && touch venv/COLCON_IGNORE \
    && venv/bin/pip install --no-cache-dir "./src/robot_sysid[examples]"
RUN bash -c ". /opt/ros/${ROS_DISTRO}/setup.bash && . venv/bin/activate \
    && colcon build --packages-select robot_sysid"
RUN printf '#!/bin/bash\n. /ws/install/setup.bash\n. /ws/venv/bin/activate\nexec "$@"\n' > /entry.sh \
    && chmod +x /entry.sh
# Nobody needs to be root to identify a robot.
RUN useradd --create-home sysid && mkdir -p /results && chown sysid /results
USER sysid
WORKDIR /home/sysid
ENTRYPOINT ["/entry.sh"]
CMD ["sysid", "--help"]
