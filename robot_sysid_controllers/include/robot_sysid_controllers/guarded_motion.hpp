// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "robot_sysid_controllers/path.hpp"

namespace robot_sysid_controllers
{

/// Timeout of a stream of messages, measured in control periods.
class Silence
{
public:
  /// \param patience Timeout [s]; 0: no timeout.
  explicit Silence(double patience) : patience_(patience) {}

  /// Advance by one control period. \param count Number of messages received so far.
  /// \param dt Period [s]. \return True if the timeout has passed since the last message.
  bool longer(std::uint32_t count, double dt) noexcept
  {
    silent_ = count != count_ ? 0.0 : silent_ + dt;
    count_ = count;
    return patience_ > 0.0 && !(silent_ <= patience_);
  }

private:
  const double patience_;
  std::uint32_t count_ = 0;
  double silent_ = INFINITY;  // no message yet
};

/// State of a guard, with the reason for braking.
enum class Guard : std::uint8_t {
  kHolding,    ///< holds the last commanded position
  kPlaying,    ///< plays the checked path
  kAsked,      ///< brakes: a stop was requested
  kExecutor,   ///< brakes: no messages from the executor
  kWrench,     ///< brakes: no messages from the force-torque sensor
  kState,      ///< brakes: joint states are not finite
  kDeviation,  ///< brakes: the tracking error is too large
  kInterrupted,  ///< was stopped: no control period came for longer than the executor's timeout
};

/// Text of a state.
inline const char * name_of(Guard guard) noexcept
{
  switch (guard) {
    case Guard::kHolding:
      return "holding";
    case Guard::kPlaying:
      return "playing";
    case Guard::kAsked:
      return "braking: a stop was requested";
    case Guard::kExecutor:
      return "braking: the executor is silent";
    case Guard::kWrench:
      return "braking: the wrench is silent";
    case Guard::kState:
      return "braking: joint states are not finite";
    case Guard::kDeviation:
      return "braking: the tracking error is too large";
    case Guard::kInterrupted:
      return "braking: the control loop was interrupted";
  }
  return "";
}

/// Inputs of a guard in one control period.
struct GuardInput
{
  /// Measured positions (n) [rad].
  const double * q;
  /// Numbers of messages received so far.
  std::uint32_t executor, wrench;
  bool stop;
  /// Speed relative to the path's speed, 0 to 1.
  double speed;
};

/// Plays checked paths, and brakes along them when messages of the executor or the sensor stop.
///
/// After braking has started, the robot comes to rest before another path can start. A path is never
/// continued.
class GuardedMotion
{
public:
  /// \param acceleration Limits (n) [rad/s^2]. \param deviation Largest tracking error [rad].
  /// \param executor,wrench Timeouts [s]; 0 for the wrench: no sensor is needed.
  /// \param period Nominal control period [s].
  GuardedMotion(
    std::vector<double> acceleration, double deviation, double executor, double wrench,
    double period)
  : n_(acceleration.size()),
    player_(std::move(acceleration)),
    deviation_(deviation),
    period_(period),
    timeout_(executor),
    executor_(executor),
    wrench_(wrench)
  {
  }

  /// Hold the robot's position, at activation. \param q Positions (n) [rad].
  void hold(const double * q) noexcept
  {
    player_.hold(q);
    doing_ = Guard::kHolding;
  }

  /// Start a path. \return True if it was started: the robot is at rest at its first point, without a fault.
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
    ++begun_;
    return true;
  }

  /// Advance by one period `dt` [s]; afterwards, `q`, `v` and `a` are the command.
  ///
  /// Missed periods are not made up for, because the drives have held the last command meanwhile. After
  /// an interruption beyond the executor's timeout, the robot is held where its drives have stopped it.
  void update(const GuardInput & in, double dt) noexcept
  {
    const bool no_executor = executor_.longer(in.executor, dt);
    const bool no_wrench = wrench_.longer(in.wrench, dt);
    fault_ = in.stop       ? Guard::kAsked
             : no_executor ? Guard::kExecutor
             : no_wrench   ? Guard::kWrench
                           : off_the_path(in.q);
    const bool interrupted = dt > timeout_;
    if (player_.moving() && doing_ == Guard::kPlaying && (interrupted || fault_ != Guard::kHolding)) {
      doing_ = cause_ = interrupted ? Guard::kInterrupted : fault_;
      ++brakings_;
    }
    if (player_.moving() && interrupted) {
      player_.hold(in.q);
    }
    const bool playing = doing_ == Guard::kPlaying;
    const double speed = in.speed >= 0.0 ? std::fmin(in.speed, 1.0) : 0.0;
    player_.advance(playing ? speed : 0.0, std::fmin(dt, 2.0 * period_), !playing);
    if (!player_.moving()) {
      doing_ = Guard::kHolding;
    }
  }

  Guard doing() const noexcept { return doing_; }
  /// Reason of the last braking; `kHolding`: none yet.
  Guard cause() const noexcept { return cause_; }
  /// Numbers of motions and brakings so far.
  std::uint32_t begun() const noexcept { return begun_; }
  std::uint32_t brakings() const noexcept { return brakings_; }
  /// Fault that prevents a start now; `kHolding`: none.
  Guard fault() const noexcept { return fault_; }
  bool moving() const noexcept { return player_.moving(); }
  double place() const noexcept { return player_.place(); }
  const double * q() const noexcept { return player_.q(); }
  const double * v() const noexcept { return player_.v(); }
  const double * a() const noexcept { return player_.a(); }

private:
  /// Tolerance of a path's first point for the rounding of positions in messages [rad].
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
  const double deviation_, period_, timeout_;
  Silence executor_, wrench_;
  std::uint32_t begun_ = 0, brakings_ = 0;
  Guard doing_ = Guard::kHolding, cause_ = Guard::kHolding, fault_ = Guard::kExecutor;
};

}  // namespace robot_sysid_controllers
