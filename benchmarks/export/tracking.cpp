// SPDX-License-Identifier: Apache-2.0
// The torque controller's law on the simulated robot of ros2_control, both as they are built there.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "robot_sysid_controllers/exported_model.hpp"
#include "robot_sysid_controllers/mujoco_robot.hpp"
#include "robot_sysid_controllers/torque_law.hpp"

using namespace robot_sysid_controllers;

// Tracking errors (K x n) of a reference (K x 3 x n) that begins at rest; `noise` (K x 2 x n) is
// added to what is measured. 0, or 1 with a text: a file can't be used.
extern "C" int track(
  const char * library, const char * plant, int K, double dt, double bandwidth, const double * limits,
  const double * reference, const double * noise, double * errors, char * text)
{
  try {
    const ExportedModel model(library);
    const std::size_t n = model.joint_names().size();
    MujocoRobot robot(plant, model.joint_names(), 100.0);
    TorqueLawOptions options;
    options.bandwidth = bandwidth;
    options.effort.assign(limits, limits + n);
    options.velocity.assign(n, HUGE_VAL);  // the reference begins at rest on the robot
    options.change.assign(n, 5.0);
    TorqueLaw law(model, options);
    robot.reset(reference);
    std::vector<double> q(n), v(n), tau(n);
    for (int k = 0; k < K; ++k) {
      const double * row = reference + 3 * n * k;
      for (std::size_t j = 0; j < n; ++j) {
        errors[n * k + j] = row[j] - robot.q(j);
        q[j] = robot.q(j) + noise[2 * n * k + j];
        v[j] = robot.v(j) + noise[2 * n * k + n + j];
      }
      const Reference wanted{row, row + n, row + 2 * n};
      law.update(q.data(), v.data(), &wanted, dt, tau.data());
      for (std::size_t j = 0; j < n; ++j) {
        robot.commands[j].mode = MujocoRobot::Mode::kEffort;
        robot.commands[j].effort = tau[j];
      }
      robot.advance(dt);
    }
    return 0;
  } catch (const std::exception & error) {
    std::snprintf(text, 300, "%s", error.what());
    return 1;
  }
}
