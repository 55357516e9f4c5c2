// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace robot_sysid_controllers
{

/// The C code of `sysid export --to c`, loaded as a shared library; its parameters are data.
///
/// All functions except the constructor run without allocations, locks and exceptions.
class ExportedModel
{
public:
  /// \param library Path of the shared library.
  /// \param prefix Prefix of the library's symbols; empty: the file name without `lib` and extension.
  /// \throws std::runtime_error The library can't be loaded, or lacks a symbol.
  explicit ExportedModel(const std::string & library, const std::string & prefix = "");
  ~ExportedModel();
  ExportedModel(const ExportedModel &) = delete;
  ExportedModel & operator=(const ExportedModel &) = delete;

  /// Joint names, in the order of all arrays.
  const std::vector<std::string> & joint_names() const { return joint_names_; }
  /// Parameter names as in estimates: ten per body, then those of friction.
  const std::vector<std::string> & parameter_names() const { return parameter_names_; }
  /// Exported values of the parameters, in SI units.
  const std::vector<double> & parameters() const { return parameters_; }
  /// Size of the friction state (presliding and breakaway friction).
  std::size_t state_size() const { return state_size_; }

  /// Reset the friction state; call it before the first `torques` and after a pause.
  /// \param q Positions (n) [rad or m].
  void reset(double * state, const double * q) const noexcept { reset_(state, q); }

  /// Drive torques [N m or N]. Call it once per control period, since it updates the friction state.
  /// \param parameters In the order of `parameters()`. \param q,v,a Motion (n) [rad, rad/s, rad/s^2].
  /// \param tau Torques (n).
  void torques(
    const double * parameters, const double * q, const double * v, const double * a, double * state,
    double * tau) const noexcept
  {
    torques_(parameters, q, v, a, state, tau);
  }

  /// Gravity torques (n) [N m or N].
  void gravity(const double * parameters, const double * q, double * tau) const noexcept
  {
    gravity_(parameters, q, tau);
  }

  /// Mass matrix of the exported rigid bodies (n x n, row-major) [kg m^2].
  void mass_matrix(const double * q, double * M) const noexcept { mass_matrix_(q, M); }

  /// Torques of the exported rigid bodies (n) [N m or N].
  void rigid_torques(
    const double * q, const double * v, const double * a, double * tau) const noexcept
  {
    rigid_torques_(q, v, a, tau);
  }

  /// Drive inertia reflected to the joints (n) [kg m^2].
  const double * armature() const { return armature_; }

private:
  template <typename F>
  F symbol(const std::string & name) const;

  void * handle_ = nullptr;
  std::string library_, prefix_;
  std::vector<std::string> joint_names_, parameter_names_;
  std::vector<double> parameters_;
  std::size_t state_size_ = 0;
  const double * armature_ = nullptr;
  void (*reset_)(double *, const double *) = nullptr;
  void (*torques_)(
    const double *, const double *, const double *, const double *, double *, double *) = nullptr;
  void (*gravity_)(const double *, const double *, double *) = nullptr;
  void (*mass_matrix_)(const double *, double *) = nullptr;
  void (*rigid_torques_)(const double *, const double *, const double *, double *) = nullptr;
};

}  // namespace robot_sysid_controllers
