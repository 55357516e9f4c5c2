// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "robot_sysid_controllers/path.hpp"

namespace robot_sysid_controllers
{

/// Whether somebody still speaks: counts messages, measures silence in control periods.
class Silence
{
public:
  /// \param patience Longest silence [s]; 0: nobody is listened to.
  explicit Silence(double patience) : patience_(patience) {}

  /// One period. \param count Messages so far. \param dt [s]. \return Whether the silence is too long.
  bool longer(std::uint32_t count, double dt) noexcept
  {
    silent_ = count != count_ ? 0.0 : silent_ + dt;
    count_ = count;
    return patience_ > 0.0 && !(silent_ <= patience_);
  }

private:
  const double patience_;
  std::uint32_t count_ = 0;
  double silent_ = INFINITY;  // nobody has spoken yet
};

/// What a guard does, and why it brakes.
enum class Guard : std::uint8_t {
  kHolding,    ///< stands at the last commanded position
  kPlaying,    ///< plays the checked path
  kAsked,      ///< brakes: asked to
  kExecutor,   ///< brakes: the executor is silent
  kWrench,     ///< brakes: the force-torque sensor is silent
  kState,      ///< brakes: joint states aren't numbers
  kDeviation,  ///< brakes: the robot isn't where it is commanded to be
};

/// Name of what a guard does.
inline const char * name_of(Guard guard) noexcept
{
  switch (guard) {
    case Guard::kHolding:
      return "holding";
    case Guard::kPlaying:
      return "playing";
    case Guard::kAsked:
      return "braking: asked to";
    case Guard::kExecutor:
      return "braking: the executor is silent";
    case Guard::kWrench:
      return "braking: the wrench is silent";
    case Guard::kState:
      return "braking: joint states aren't numbers";
    case Guard::kDeviation:
      return "braking: the robot isn't where it is commanded to be";
  }
  return "";
}

/// What a guard hears in one period.
struct GuardInput
{
  /// Measured positions (n) [rad].
  const double * q;
  /// Messages so far.
  std::uint32_t executor, wrench;
  bool stop;
  /// Of the path's own, 0 to 1.
  double speed;
};

/// Plays checked paths while everybody speaks; brakes along them when somebody falls silent.
///
/// What began to brake stands still before anything else begins; no path is gone on with.
class GuardedMotion
{
public:
  /// \param acceleration Limits (n) [rad/s^2]. \param deviation Largest tracking error [rad].
  /// \param executor,wrench Longest silences [s]; a wrench of 0 isn't needed.
  GuardedMotion(
    std::vector<double> acceleration, double deviation, double executor, double wrench)
  : n_(acceleration.size()),
    player_(std::move(acceleration)),
    deviation_(deviation),
    executor_(executor),
    wrench_(wrench)
  {
  }

  /// Stand where the robot is, at activation. \param q (n) [rad].
  void hold(const double * q) noexcept
  {
    player_.hold(q);
    doing_ = Guard::kHolding;
  }

  /// Begin a path. \return Whether it may be: at rest, from here, with everybody speaking.
  bool begin(const Path & path) noexcept
  {
    if (player_.moving() || fault_ != Guard::kHolding || path.joints() != n_) {
      return false;
    }
    for (std::size_t j = 0; j < n_; ++j) {
      if (!(std::fabs(path.start()[j] - player_.q()[j]) <= kSamePlace)) {
        return false;
      }
    }
    player_.begin(&path);
    doing_ = Guard::kPlaying;
    return true;
  }

  /// One period of `dt` [s]; the command is in `q`, `v` and `a` afterwards.
  void update(const GuardInput & in, double dt) noexcept
  {
    const bool no_executor = executor_.longer(in.executor, dt);
    const bool no_wrench = wrench_.longer(in.wrench, dt);
    fault_ = in.stop       ? Guard::kAsked
             : no_executor ? Guard::kExecutor
             : no_wrench   ? Guard::kWrench
                           : off_the_path(in.q);
    if (player_.moving() && doing_ == Guard::kPlaying && fault_ != Guard::kHolding) {
      doing_ = cause_ = fault_;
    }
    const bool playing = doing_ == Guard::kPlaying;
    const double speed = in.speed >= 0.0 ? std::fmin(in.speed, 1.0) : 0.0;
    player_.advance(playing ? speed : 0.0, dt, !playing);
    if (!player_.moving()) {
      doing_ = Guard::kHolding;
    }
  }

  Guard doing() const noexcept { return doing_; }
  /// Why it braked last; `kHolding`: it never did.
  Guard cause() const noexcept { return cause_; }
  /// What forbids a beginning now; `kHolding`: nothing.
  Guard fault() const noexcept { return fault_; }
  bool moving() const noexcept { return player_.moving(); }
  double place() const noexcept { return player_.place(); }
  const double * q() const noexcept { return player_.q(); }
  const double * v() const noexcept { return player_.v(); }
  const double * a() const noexcept { return player_.a(); }

private:
  /// Of a beginning from the held position: what numbers lose between double and message [rad].
  static constexpr double kSamePlace = 1e-9;

  Guard off_the_path(const double * q) const noexcept
  {
    for (std::size_t j = 0; j < n_; ++j) {
      if (!std::isfinite(q[j])) {
        return Guard::kState;
      }
      if (std::fabs(q[j] - player_.q()[j]) > deviation_) {
        return Guard::kDeviation;
      }
    }
    return Guard::kHolding;
  }

  const std::size_t n_;
  PathPlayer player_;
  const double deviation_;
  Silence executor_, wrench_;
  Guard doing_ = Guard::kHolding, cause_ = Guard::kHolding, fault_ = Guard::kExecutor;
};

}  // namespace robot_sysid_controllers
