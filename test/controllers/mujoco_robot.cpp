// SPDX-License-Identifier: Apache-2.0
// A simulated robot of ros2_control as C functions, for tests in Python.
#include <cstdio>
#include <string>
#include <vector>

#include "robot_sysid_controllers/mujoco_robot.hpp"

using robot_sysid_controllers::MujocoRobot;

extern "C" {

// Every joint in one mode, with a command for each step of `dt`; rows of q, v and effort. Its refusal is in `text`.
int simulate(
  const char * file, int n, const char ** joints, double bandwidth, const double * start, int mode,
  int steps, double dt, const double * commands, double * rows, char * text)
{
  try {
    MujocoRobot robot(file, {joints, joints + n}, bandwidth);
    robot.reset(start);
    for (int k = 0; k < steps; ++k) {
      for (int j = 0; j < n; ++j) {
        const double * given = commands + 3 * (n * k + j);
        robot.commands[j] = {static_cast<MujocoRobot::Mode>(mode), given[0], given[1], given[2]};
      }
      robot.advance(dt);
      for (int j = 0; j < n; ++j) {
        double * row = rows + 3 * (n * k + j);
        row[0] = robot.q(j);
        row[1] = robot.v(j);
        row[2] = robot.effort(j);
      }
    }
    return 0;
  } catch (const std::exception & error) {
    std::snprintf(text, 300, "%s", error.what());
    return 1;
  }
}

}  // extern "C"
