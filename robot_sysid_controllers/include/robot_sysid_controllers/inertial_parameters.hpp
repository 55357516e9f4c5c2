// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace robot_sysid_controllers
{

/// m [kg], m c [kg m], Ixx Ixy Iyy Ixz Iyz Izz about the frame's origin [kg m^2].
using InertialParameters = std::array<double, 10>;

/// True if a body is physically consistent: its pseudo-inertia is positive semi-definite (Wensing, Kim,
/// Slotine 2018).
///
/// Cholesky factorisation of [tr(I)/2 E - I, m c; m c^T, m], with a tolerance for rounding.
inline bool is_physically_consistent(const double * pi)
{
  const double half = 0.5 * (pi[4] + pi[6] + pi[9]);
  std::array<std::array<double, 4>, 4> L{
    {{half - pi[4], 0, 0, 0},
     {-pi[5], half - pi[6], 0, 0},
     {-pi[7], -pi[8], half - pi[9], 0},
     {pi[1], pi[2], pi[3], pi[0]}}};
  std::array<double, 4> scale{};
  for (std::size_t i = 0; i < 4; ++i) {
    scale[i] = L[i][i];
  }
  constexpr double kRounding = 1e-9;  // relative to the diagonal, for values from text and messages
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      L[j][j] -= L[j][k] * L[j][k];
    }
    if (!(L[j][j] >= -kRounding * std::fabs(scale[j])) || !std::isfinite(L[j][j])) {
      return false;
    }
    L[j][j] = std::sqrt(std::fmax(L[j][j], 0.0));
    for (std::size_t i = j + 1; i < 4; ++i) {
      for (std::size_t k = 0; k < j; ++k) {
        L[i][j] -= L[i][k] * L[j][k];
      }
      const double least = std::sqrt(kRounding * std::fabs(scale[i]) * std::fabs(scale[j]));
      if (L[j][j] > 0.0) {
        L[i][j] /= L[j][j];
      } else if (std::fabs(L[i][j]) > least || !std::isfinite(L[i][j])) {
        return false;
      }
    }
  }
  return true;
}

/// Inertial parameters of a body, expressed in another frame.
/// \param mass Mass [kg]. \param com Centre of mass in the body's frame (3) [m].
/// \param inertia About the centre of mass, in the body's axes: Ixx Ixy Iyy Ixz Iyz Izz [kg m^2].
/// \param R Rotation from the body's frame to the other frame (9, row-major).
/// \param p Origin of the body's frame in the other frame (3) [m].
inline InertialParameters inertial_parameters_in(
  double mass, const double * com, const double * inertia, const double * R, const double * p)
{
  const double I[3][3] = {
    {inertia[0], inertia[1], inertia[3]},
    {inertia[1], inertia[2], inertia[4]},
    {inertia[3], inertia[4], inertia[5]}};
  double c[3], turned[3][3] = {};
  for (int i = 0; i < 3; ++i) {
    c[i] = p[i];
    for (int j = 0; j < 3; ++j) {
      c[i] += R[3 * i + j] * com[j];
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) {
          turned[i][j] += R[3 * i + k] * I[k][l] * R[3 * j + l];
        }
      }
    }
  }
  const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
  const auto steiner = [&](int i, int j) {
    return turned[i][j] + mass * ((i == j ? square : 0.0) - c[i] * c[j]);
  };
  return {mass,          mass * c[0],   mass * c[1],   mass * c[2],   steiner(0, 0),
          steiner(0, 1), steiner(1, 1), steiner(0, 2), steiner(1, 2), steiner(2, 2)};
}

}  // namespace robot_sysid_controllers
