// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace robot_sysid_controllers
{

/// The C code of `sysid export --to c`, loaded as a library: torques of the drives, with parameters as data.
///
/// All calls but the constructor are free of allocation, locks and exceptions.
class ExportedModel
{
public:
  /// \param library Path of the shared library.
  /// \param prefix What its names begin with; empty: the file's name without `lib` and ending.
  /// \throws std::runtime_error It can't be loaded, or isn't such a library.
  explicit ExportedModel(const std::string & library, const std::string & prefix = "");
  ~ExportedModel();
  ExportedModel(const ExportedModel &) = delete;
  ExportedModel & operator=(const ExportedModel &) = delete;

  /// Joints, in the order of all arrays.
  const std::vector<std::string> & joint_names() const { return joint_names_; }
  /// Ten of each body, then those of friction; as estimates call them.
  const std::vector<std::string> & parameter_names() const { return parameter_names_; }
  /// The exported values, SI.
  const std::vector<double> & parameters() const { return parameters_; }
  /// Numbers of a friction state: what presliding and play remember.
  std::size_t state_size() const { return state_size_; }

  /// Friction forgets; before the first `torques` and after a pause. \param q Positions (n) [rad or m].
  void reset(double * state, const double * q) const noexcept { reset_(state, q); }

  /// Torques that the drives give [N m or N]; once a period: the state follows q.
  /// \param parameters As `parameters()`. \param q,v,a (n) [rad, rad/s, rad/s^2]. \param tau (n).
  void torques(
    const double * parameters, const double * q, const double * v, const double * a, double * state,
    double * tau) const noexcept
  {
    torques_(parameters, q, v, a, state, tau);
  }

  /// Torques that gravity asks for (n) [N m or N].
  void gravity(const double * parameters, const double * q, double * tau) const noexcept
  {
    gravity_(parameters, q, tau);
  }

  /// Mass matrix of the exported rigid bodies by rows (n x n) [kg m^2].
  void mass_matrix(const double * q, double * M) const noexcept { mass_matrix_(q, M); }

  /// Torques of the exported rigid bodies (n) [N m or N].
  void rigid_torques(
    const double * q, const double * v, const double * a, double * tau) const noexcept
  {
    rigid_torques_(q, v, a, tau);
  }

  /// Inertia of the drives at the joints (n) [kg m^2].
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
