// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "robot_sysid_controllers/exported_model.hpp"

namespace robot_sysid_controllers
{

/// Reason why the gravity torques of parameters are implausible; empty: they are plausible.
///
/// The same check as `judge_for_control` of the core, over random postures. With the gravity torques g
/// of the parameters and g0 of the exported model, `max |g_j - g0_j| <= (factor - 1) max |g0_j|` must
/// hold for every joint j, and `<g, g0> >= <g0, g0> / factor`: an arm that is modelled too light would
/// fall. Not for real-time threads.
/// \param parameters In the model's order. \param factor Above 1.
inline std::string gravity_refusal(
  const ExportedModel & model, const std::vector<double> & parameters, double factor)
{
  constexpr int kPostures = 64;    // as in the core
  constexpr double kLeast = 0.05;  // smallest scale of a joint, relative to the largest gravity torque
  constexpr double kRange = 3.14159265358979;  // [rad or m]; the exported model has no limits
  const std::size_t n = model.joint_names().size();
  std::mt19937 random(0);
  std::vector<double> q(n), g(n), g0(n), peak(n, 0.0), off(n, 0.0);
  double product = 0.0, square = 0.0;
  for (int k = 0; k < kPostures; ++k) {
    for (double & x : q) {
      x = kRange * (2.0 * static_cast<double>(random()) / 4294967295.0 - 1.0);
    }
    model.gravity(model.parameters().data(), q.data(), g0.data());
    model.gravity(parameters.data(), q.data(), g.data());
    for (std::size_t j = 0; j < n; ++j) {
      peak[j] = std::fmax(peak[j], std::fabs(g0[j]));
      off[j] = std::fmax(off[j], std::fabs(g[j] - g0[j]));
      product += g[j] * g0[j];
      square += g0[j] * g0[j];
    }
  }
  const double heaviest = n > 0 ? *std::max_element(peak.begin(), peak.end()) : 0.0;
  for (std::size_t j = 0; j < n && heaviest > 0.0; ++j) {
    if (!(off[j] <= (factor - 1.0) * std::fmax(peak[j], kLeast * heaviest))) {
      return "its gravity torque of " + model.joint_names()[j] + " is " + std::to_string(off[j]) +
             " N m different from the exported model's, whose maximum is " + std::to_string(peak[j]) +
             " N m";
    }
  }
  if (!(product >= square / factor)) {
    return "it carries only " + std::to_string(product / square) + " of the exported model's weight";
  }
  return "";
}

}  // namespace robot_sysid_controllers
