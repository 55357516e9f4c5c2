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

/// Joint limits (n each): positions [rad], velocity [rad/s], acceleration [rad/s^2].
struct JointLimits
{
  std::vector<double> lower, upper, velocity, acceleration;
};

/// Quintic spline through the points, as in trajectory controllers: q(u), q'(u), q''(u).
///
/// A point is stored as a row of time, positions, velocities and accelerations. A control period thus
/// reads two adjacent rows, which is fast even if other programs have displaced the cached data.
class Path
{
public:
  /// \param time Times of the points (K), starting at zero [s]. \param q,v,a Motion of the points (K x n).
  /// \param origin Time at which the requested motion begins [s]; the approach to it comes before.
  Path(std::size_t n, const std::vector<double> & time, const std::vector<double> & q,
       const std::vector<double> & v, const std::vector<double> & a, double origin = 0.0)
  : n_(n), origin_(origin)
  {
    const std::size_t all = time.size() * n;
    if (q.size() != all || v.size() != all || a.size() != all) {
      return;  // without points; `refusal` reports it
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
  /// Duration [s].
  double duration() const noexcept { return size_ == 0 ? 0.0 : *point(size_ - 1); }
  /// Time at which the requested motion begins, after the approach [s].
  double origin() const noexcept { return origin_; }
  /// First position (n) [rad].
  const double * start() const noexcept { return point(0) + 1; }

  /// Position and derivatives at u, which is limited to the path.
  /// \param u Path parameter [s]. \param q,dq,ddq Result (n) [rad, rad/s, rad/s^2].
  /// \param k Start of the search for the point before u (initially 0); set to this point.
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
    const double h = *to - *from, s = u - *from, r = 1.0 / h, r3 = 0.5 * r * r * r;
    for (std::size_t j = 1; j <= n_; ++j) {
      const double q0 = from[j], v0 = from[n_ + j], a0 = from[2 * n_ + j];
      const double d = to[j] - q0, v1 = to[n_ + j], a1 = to[2 * n_ + j];
      const double c3 = r3 * (20 * d - h * (8 * v1 + 12 * v0 + h * (3 * a0 - a1)));
      const double c4 = r3 * r * (-30 * d + h * (14 * v1 + 16 * v0 + h * (3 * a0 - 2 * a1)));
      const double c5 = r3 * r * r * (12 * d - h * (6 * (v1 + v0) - h * (a1 - a0)));
      *q++ = q0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))));
      *dq++ = v0 + s * (a0 + s * (3 * c3 + s * (4 * c4 + s * 5 * c5)));
      *ddq++ = a0 + s * (6 * c3 + s * (12 * c4 + s * 20 * c5));
    }
  }

  /// Reason to refuse the path, checked every `dt` [s]; none: it is accepted. Not for real-time threads.
  std::optional<std::string> refusal(const JointLimits & limits, double dt) const
  {
    if (size_ < 2) {
      return "it has fewer than two points, or points without position, velocity and acceleration";
    }
    for (std::size_t k = 0; k < size_; ++k) {
      const double t = *point(k);
      if (!(k == 0 ? t == 0.0 : t > *point(k - 1)) || !std::isfinite(t)) {
        return "its times must start at zero and increase";
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
        // 1e-9: tolerance for the rounding of a motion that reaches a limit.
        const auto beyond = [](double x, double most) { return !(x <= most + 1e-9); };
        if (beyond(q[j], limits.upper[j]) || beyond(-q[j], -limits.lower[j])) {
          what = "position";
        } else if (beyond(std::fabs(v[j]), limits.velocity[j])) {
          what = "velocity";
        } else if (beyond(std::fabs(a[j]), limits.acceleration[j])) {
          what = "acceleration";
        } else if (end && std::fabs(v[j]) > 1e-6) {  // as joint_trajectory_controller requires
          what = "velocity at an end";
        }
        if (what != nullptr) {
          return std::string("the ") + what + " of joint " + std::to_string(j) + " at " +
                 std::to_string(u) + " s exceeds its limit";
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

/// Plays a path at a variable speed, and brakes along it within the acceleration limits.
///
/// With the path parameter u and the speed s = du/dt, `|q'(u+) s+ - q'(u) s| <= a dt` holds for each
/// joint: the commanded velocities never change faster than the limits permit. If the path itself keeps
/// the limits, then s = 1 and every smaller s are always feasible.
class PathPlayer
{
public:
  explicit PathPlayer(std::vector<double> acceleration)
  : limit_(std::move(acceleration)),
    n_(limit_.size()),
    q_(n_), dq_(n_), ddq_(n_), v_(n_), a_(n_)
  {
  }

  /// Hold a position (n) [rad]; a joint whose position is not finite holds its last command.
  void hold(const double * q) noexcept
  {
    for (std::size_t j = 0; j < n_; ++j) {
      q_[j] = std::isfinite(q[j]) ? q[j] : q_[j];
    }
    hold_here();
  }

  /// Start a path from rest; it must exist until its end or until `hold`.
  void begin(const Path * path) noexcept
  {
    path_ = path;
    u_ = speed_ = 0.0;
    k_ = 0;
    path_->at(0.0, k_, q_.data(), dq_.data(), ddq_.data());
  }

  /// Advance by one control period. \param wanted Desired speed, 0 to 1. \param dt Period [s].
  /// \param for_good True: the path ends when the speed has reached 0.
  void advance(double wanted, double dt, bool for_good) noexcept
  {
    if (path_ == nullptr) {
      return;
    }
    const double before = speed_;
    std::copy(v_.begin(), v_.end(), a_.begin());  // velocities of the previous period
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
    // If no speed is feasible (rounding, or a path at its limits), the speed is kept.
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
  /// Speed relative to the path's speed.
  double speed() const noexcept { return speed_; }
  /// Path parameter [s].
  double place() const noexcept { return u_; }
  const double * q() const noexcept { return q_.data(); }
  const double * v() const noexcept { return v_.data(); }
  const double * a() const noexcept { return a_.data(); }

private:
  /// Share of the acceleration limits that a stop uses if this is feasible: a torque-controlled arm
  /// overshoots by 12 % (see `STOP_SHARE` of the executor's stops).
  static constexpr double kStopShare = 0.9;

  /// Range of the speeds that the acceleration limits permit in `dt` [s]. \return True if it isn't empty.
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
  std::size_t k_ = 0;  // last point of the path before u
  std::vector<double> q_, dq_, ddq_, v_, a_;
};

}  // namespace robot_sysid_controllers
