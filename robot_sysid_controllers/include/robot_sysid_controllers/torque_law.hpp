// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "robot_sysid_controllers/exported_model.hpp"

namespace robot_sysid_controllers
{

/// Desired motion of the joints (n each) [rad, rad/s, rad/s^2].
struct Reference
{
  const double * q;
  const double * v;
  const double * a;
};

/// Settings of a torque control law.
struct TorqueLawOptions
{
  /// Bandwidth of the tracking error [rad/s].
  double bandwidth = 10.0;
  /// Largest acceleration due to the tracking error, beyond the one that cancels the acceleration of the
  /// reference [rad/s^2].
  double feedback_limit = 50.0;
  /// Damping of the joints without a reference [N m s/rad].
  double damping = 0.0;
  /// Largest rate of change of the torques due to new parameters (n) [N m/s].
  std::vector<double> change;
  /// Largest torques (n) [N m].
  std::vector<double> effort;
  /// Speeds beyond which the feedback accelerates no joint (n) [rad/s].
  std::vector<double> velocity;
  /// Distance from the robot within which a reference is followed again after an interruption [rad or m].
  double step = 0.05;
  /// Nominal control period [s].
  double period = INFINITY;
};

/// Torques from the identified model: computed torque with a reference, otherwise gravity compensation.
///
/// `tau = M(q) (a_d + 2 w (v_d - v) + w^2 (q_d - q)) + C(q, v_d) v_d + g(q) + friction(v_d)`. Friction is
/// computed for the desired velocity, since the sign of the measured velocity is noise near standstill.
/// The feedback is that of `sysid_core.control.TorqueController`: it is limited, and drives no joint faster
/// than its velocity limit, whatever the reference does.
/// New parameters are blended in: the torques are a weighted mean of both sets, and the weight of the
/// new set grows as fast as `change` permits at the present state of the robot. A weighted mean of
/// physically consistent parameters is physically consistent. After a control loop that stood still, the
/// robot is held where it is until the reference is near it (see `sysid_core.control.TorqueController`).
/// `update` does not allocate, lock or throw.
class TorqueLaw
{
public:
  /// \param model Must exist longer than the law.
  TorqueLaw(const ExportedModel & model, TorqueLawOptions options)
  : model_(model),
    options_(std::move(options)),
    n_(model.joint_names().size()),
    now_(model.parameters()),
    next_(model.parameters()),
    state_(model.state_size()),
    next_state_(model.state_size()),
    a_(n_),
    next_tau_(n_),
    held_(n_),
    still_(n_)
  {
  }

  /// Reset the friction state, at activation. \param q Positions (n) [rad].
  void reset(const double * q) noexcept
  {
    model_.reset(state_.data(), q);
    started_ = true;
  }

  /// Blend in new parameters; call it only while `settled`. \param parameters In the model's order.
  void go_to(const double * parameters) noexcept
  {
    std::copy_n(parameters, next_.size(), next_.begin());
    share_ = 0.0;
  }

  /// True if only one set of parameters is in use.
  bool settled() const noexcept { return share_ >= 1.0; }
  /// Weight of the new parameters, 0 to 1.
  double share() const noexcept { return share_; }

  /// Compute the torques of one control period.
  /// \param q,v Measured motion (n) [rad, rad/s]. \param reference Null: gravity compensation.
  /// \param dt Period [s]. \param tau Torques (n) [N m].
  /// \return True if the torques are finite; otherwise tau is zero.
  bool update(
    const double * q, const double * v, const Reference * reference, double dt, double * tau) noexcept
  {
    if (!started_) {
      reset(q);
    }
    if (dt > kInterrupted) {  // by now its brakes or watchdog may have stopped the robot
      std::copy_n(q, n_, held_.begin());
      interrupted_ = true;
    }
    const Reference held{held_.data(), still_.data(), still_.data()};
    interrupted_ = interrupted_ && reference != nullptr && !is_near(reference->q, q);
    reference = interrupted_ ? &held : reference;
    if (!settled()) {
      std::copy(state_.begin(), state_.end(), next_state_.begin());
      torques(next_.data(), q, v, reference, next_state_.data(), next_tau_.data());
    }
    torques(now_.data(), q, v, reference, state_.data(), tau);
    if (!settled()) {
      mix(std::fmin(dt, 2.0 * options_.period), tau);  // missed periods change no torque
    }
    bool finite = true;
    for (std::size_t j = 0; j < n_; ++j) {
      finite = finite && std::isfinite(tau[j]);
    }
    for (std::size_t j = 0; j < n_; ++j) {
      tau[j] = finite ? std::clamp(tau[j], -options_.effort[j], options_.effort[j]) : 0.0;
    }
    return finite;
  }

private:
  /// Shortest control period that is an interruption: `state_timeout` of the controller in Python [s].
  static constexpr double kInterrupted = 0.2;

  bool is_near(const double * wanted, const double * q) const noexcept
  {
    for (std::size_t j = 0; j < n_; ++j) {
      if (!(std::fabs(wanted[j] - q[j]) <= options_.step)) {
        return false;
      }
    }
    return true;
  }

  void torques(
    const double * parameters, const double * q, const double * v, const Reference * reference,
    double * state, double * tau) noexcept
  {
    if (reference == nullptr) {
      model_.gravity(parameters, q, tau);
      for (std::size_t j = 0; j < n_; ++j) {
        tau[j] -= options_.damping * v[j];
      }
      return;
    }
    const double w = options_.bandwidth, most = options_.feedback_limit;
    for (std::size_t j = 0; j < n_; ++j) {
      const double fastest = options_.velocity[j], a = reference->a[j];
      const double wanted = reference->v[j] + 0.5 * w * (reference->q[j] - q[j]);
      const double feedback = 2.0 * w * (std::clamp(wanted, -fastest, fastest) - v[j]);
      a_[j] = a + std::clamp(feedback, -most - std::fmax(a, 0.0), most - std::fmin(a, 0.0));
    }
    model_.torques(parameters, q, reference->v, a_.data(), state, tau);
  }

  void mix(double dt, double * tau) noexcept
  {
    double step = 1.0 - share_;
    for (std::size_t j = 0; j < n_; ++j) {
      const double difference = std::fabs(next_tau_[j] - tau[j]);
      if (difference * step > options_.change[j] * dt) {
        step = options_.change[j] * dt / difference;
      }
    }
    share_ += step;
    for (std::size_t j = 0; j < n_; ++j) {
      tau[j] += share_ * (next_tau_[j] - tau[j]);
    }
    // Ends here if only rounding keeps the weight below 1.
    if (share_ > 1.0 - 1e-12) {
      share_ = 1.0;
      now_.swap(next_);
    }
  }

  const ExportedModel & model_;
  const TorqueLawOptions options_;
  const std::size_t n_;
  std::vector<double> now_, next_, state_, next_state_, a_, next_tau_, held_;
  const std::vector<double> still_;
  double share_ = 1.0;
  bool started_ = false, interrupted_ = false;
};

}  // namespace robot_sysid_controllers
