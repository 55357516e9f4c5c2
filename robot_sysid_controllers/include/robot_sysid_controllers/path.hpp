// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace robot_sysid_controllers
{

/// What joints may do (n each): positions [rad], velocity [rad/s], acceleration [rad/s^2].
struct JointLimits
{
  std::vector<double> lower, upper, velocity, acceleration;
};

/// Quintics between points, as trajectory controllers interpolate: q(u), q'(u), q''(u).
///
/// A point is a row of time, positions, velocities and accelerations, so that a control period reads
/// two rows beside each other: other programs may have used the caches since the last one.
class Path
{
public:
  /// \param time Times of the points (K), from zero [s]. \param q,v,a Rows of points (K x n).
  /// \param origin Time at which the motion begins that it was made of [s]: before is the way to it.
  Path(std::size_t n, const std::vector<double> & time, const std::vector<double> & q,
       const std::vector<double> & v, const std::vector<double> & a, double origin = 0.0)
  : n_(n), origin_(origin)
  {
    const std::size_t all = time.size() * n;
    if (q.size() != all || v.size() != all || a.size() != all) {
      return;  // no points: `refusal` says so
    }
    size_ = time.size();
    for (std::size_t k = 0; k < size_; ++k) {
      points_.push_back(time[k]);
      for (const auto * values : {&q, &v, &a}) {
        points_.insert(points_.end(), &(*values)[k * n], &(*values)[k * n] + n);
      }
    }
  }

  std::size_t joints() const noexcept { return n_; }
  /// Length in time [s].
  double duration() const noexcept { return size_ == 0 ? 0.0 : *point(size_ - 1); }
  /// Time at which the motion begins that it was made of [s].
  double origin() const noexcept { return origin_; }
  /// First position (n) [rad].
  const double * start() const noexcept { return point(0) + 1; }

  /// Position and derivatives at u, held at the ends. \param u [s]. \param q,dq,ddq (n) [rad, rad/s, rad/s^2].
  /// \param k Where the search for the point before u begins, and this point afterwards; 0 at first.
  void at(double u, std::size_t & k, double * q, double * dq, double * ddq) const noexcept
  {
    u = std::clamp(u, 0.0, duration());
    while (k + 2 < size_ && *point(k + 1) <= u) {
      ++k;
    }
    while (k > 0 && *point(k) > u) {
      --k;
    }
    const double *from = point(k), *to = point(k + 1);
    const double h = *to - *from, s = u - *from;
    for (std::size_t j = 1; j <= n_; ++j) {
      const double q0 = from[j], v0 = from[n_ + j], a0 = from[2 * n_ + j];
      const double d = to[j] - q0, v1 = to[n_ + j], a1 = to[2 * n_ + j];
      const double c3 = (20 * d - (8 * v1 + 12 * v0) * h - (3 * a0 - a1) * h * h) / (2 * h * h * h);
      const double c4 =
        (-30 * d + (14 * v1 + 16 * v0) * h + (3 * a0 - 2 * a1) * h * h) / (2 * h * h * h * h);
      const double c5 =
        (12 * d - 6 * (v1 + v0) * h + (a1 - a0) * h * h) / (2 * h * h * h * h * h);
      *q++ = q0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))));
      *dq++ = v0 + s * (a0 + s * (3 * c3 + s * (4 * c4 + s * 5 * c5)));
      *ddq++ = a0 + s * (6 * c3 + s * (12 * c4 + s * 20 * c5));
    }
  }

  /// Why it may not be played, at points `dt` apart; none: it may. Not for real-time threads.
  std::optional<std::string> refusal(const JointLimits & limits, double dt) const
  {
    if (size_ < 2) {
      return "it has fewer than two points, or points without position, velocity and acceleration";
    }
    for (std::size_t k = 0; k < size_; ++k) {
      const double t = *point(k);
      if (!(k == 0 ? t == 0.0 : t > *point(k - 1)) || !std::isfinite(t)) {
        return "its times don't begin at zero and grow";
      }
    }
    std::vector<double> q(n_), v(n_), a(n_);
    std::size_t k = 0;
    const auto steps = static_cast<std::size_t>(std::ceil(duration() / dt));
    for (std::size_t i = 0; i <= steps; ++i) {
      const double u = std::min(static_cast<double>(i) * dt, duration());
      at(u, k, q.data(), v.data(), a.data());
      const bool end = i == 0 || i == steps;
      for (std::size_t j = 0; j < n_; ++j) {
        const char * what = nullptr;
        // 1e-9: what rounding adds to a motion that uses a limit to the full.
        const auto beyond = [](double x, double most) { return !(x <= most + 1e-9); };
        if (beyond(q[j], limits.upper[j]) || beyond(-q[j], -limits.lower[j])) {
          what = "position";
        } else if (beyond(std::fabs(v[j]), limits.velocity[j])) {
          what = "velocity";
        } else if (beyond(std::fabs(a[j]), limits.acceleration[j])) {
          what = "acceleration";
        } else if (end && std::fabs(v[j]) > 1e-6) {  // as joint_trajectory_controller asks of ends
          what = "velocity at an end";
        }
        if (what != nullptr) {
          return std::string("the ") + what + " of joint " + std::to_string(j) + " at " +
                 std::to_string(u) + " s is beyond what it may be";
        }
      }
    }
    return std::nullopt;
  }

private:
  const double * point(std::size_t k) const noexcept { return points_.data() + k * (1 + 3 * n_); }

  std::size_t n_, size_ = 0;
  std::vector<double> points_;
  double origin_;
};

/// Plays a path at a speed that may change, and brakes along it inside the acceleration limits.
///
/// With u the place on the path and s = du/dt: `|q'(u+) s+ - q'(u) s| <= a dt` for each joint, so that the
/// commanded velocities never change faster than the limits allow; s = 1 is always possible where the
/// path itself keeps them, and so is every s below.
class PathPlayer
{
public:
  explicit PathPlayer(std::vector<double> acceleration)
  : limit_(std::move(acceleration)),
    n_(limit_.size()),
    q_(n_), dq_(n_), ddq_(n_), v_(n_), a_(n_)
  {
  }

  /// Stand at a position (n) [rad].
  void hold(const double * q) noexcept
  {
    std::copy_n(q, n_, q_.begin());
    std::fill(v_.begin(), v_.end(), 0.0);
    std::fill(a_.begin(), a_.end(), 0.0);
    path_ = nullptr;
    speed_ = 0.0;
  }

  /// Begin a path at rest; it outlives what follows, until `hold` or its end.
  void begin(const Path * path) noexcept
  {
    path_ = path;
    u_ = speed_ = 0.0;
    k_ = 0;
    path_->at(0.0, k_, q_.data(), dq_.data(), ddq_.data());
  }

  /// One period towards a speed. \param wanted 0 to 1. \param dt Period [s].
  /// \param for_good Whether the path ends where the speed is 0.
  void advance(double wanted, double dt, bool for_good) noexcept
  {
    if (path_ == nullptr) {
      return;
    }
    const double before = speed_;
    std::copy(v_.begin(), v_.end(), a_.begin());  // velocities of the period before
    u_ += before * dt;
    path_->at(u_, k_, q_.data(), dq_.data(), ddq_.data());
    if (u_ >= path_->duration()) {
      hold_here();
      return;
    }
    double low = 0.0, high = 1.0;
    if (!speeds(for_good ? kStopShare * dt : dt, low, high) && for_good) {
      speeds(dt, low, high);
    }
    // Where rounding or a path at its limits leaves nothing, the speed stays.
    speed_ = low <= high ? std::clamp(wanted, low, high) : before;
    for (std::size_t j = 0; j < n_; ++j) {
      v_[j] = dq_[j] * speed_;
      a_[j] = (v_[j] - a_[j]) / dt;
    }
    if (for_good && speed_ == 0.0) {
      hold_here();
    }
  }

  bool moving() const noexcept { return path_ != nullptr; }
  /// Share of the path's own speed.
  double speed() const noexcept { return speed_; }
  /// Place on the path [s].
  double place() const noexcept { return u_; }
  const double * q() const noexcept { return q_.data(); }
  const double * v() const noexcept { return v_.data(); }
  const double * a() const noexcept { return a_.data(); }

private:
  /// Of the limits that a stop uses, where the path leaves it the choice: a torque-controlled arm overshoots
  /// by 12 %, as `STOP_SHARE` of the executor's stops says.
  static constexpr double kStopShare = 0.9;

  /// Speeds whose velocities are within the limits' change in `dt` [s]. \return Whether there are any.
  bool speeds(double dt, double & low, double & high) const noexcept
  {
    low = 0.0;
    high = 1.0;
    for (std::size_t j = 0; j < n_; ++j) {
      if (dq_[j] == 0.0) {
        continue;
      }
      const double one = (a_[j] - limit_[j] * dt) / dq_[j];
      const double other = (a_[j] + limit_[j] * dt) / dq_[j];
      low = std::max(low, std::min(one, other));
      high = std::min(high, std::max(one, other));
    }
    return low <= high;
  }

  void hold_here() noexcept
  {
    std::fill(v_.begin(), v_.end(), 0.0);
    std::fill(a_.begin(), a_.end(), 0.0);
    path_ = nullptr;
    speed_ = 0.0;
  }

  const std::vector<double> limit_;
  const std::size_t n_;
  const Path * path_ = nullptr;
  double u_ = 0.0, speed_ = 0.0;
  std::size_t k_ = 0;  // last point of the path behind u
  std::vector<double> q_, dq_, ddq_, v_, a_;
};

}  // namespace robot_sysid_controllers
