// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <controller_interface/chainable_controller_interface.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <memory>
#include <pluginlib/class_list_macros.hpp>
#include <std_msgs/msg/empty.hpp>
#include <std_msgs/msg/header.hpp>
#include <std_msgs/msg/string.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <string>
#include <trajectory_msgs/msg/joint_trajectory.hpp>
#include <utility>
#include <vector>

#include "robot_sysid_controllers/guarded_motion.hpp"
#include "robot_sysid_controllers/mailbox.hpp"

namespace robot_sysid_controllers
{
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using std_srvs::srv::Trigger;
using trajectory_msgs::msg::JointTrajectory;

/// Plays a checked trajectory at the control rate, and brakes along it within the limits if messages of
/// the executor, the wrench or the joint states stop.
///
/// A trajectory on `~/trajectory` is checked. If it is accepted, its header is published on `~/kept`,
/// otherwise the reason on `~/refused`. `~/play`, called by a person or an armed executor, starts the last
/// accepted trajectory. `~/heartbeat` must be published meanwhile; `~/stop` brakes. `~/state` is the
/// state, `~/reference` the point of the motion. The reference interface `speed` (0 to 1) is for a
/// preceding controller.
class MotionGuard : public controller_interface::ChainableControllerInterface
{
public:
  CallbackReturn on_init() override
  {
    auto_declare<std::vector<std::string>>("joints", std::vector<std::string>{});
    auto_declare<std::vector<std::string>>(
      "command_interfaces", std::vector<std::string>{hardware_interface::HW_IF_POSITION});
    auto_declare<std::string>("downstream", "");
    for (const char * limit : {"lower", "upper", "velocity", "acceleration"}) {
      auto_declare<std::vector<double>>(std::string("limits.") + limit, std::vector<double>{});
    }
    auto_declare<double>("deviation", 0.1);
    auto_declare<double>("start_tolerance", 0.05);
    auto_declare<double>("executor_timeout", 0.2);
    auto_declare<std::string>("wrench_topic", "");
    auto_declare<double>("wrench_timeout", 0.1);
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override
  {
    InterfaceConfiguration out{
      controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    const std::string before = downstream_.empty() ? "" : downstream_ + "/";
    for (const auto & kind : kinds_) {
      for (const auto & joint : joints_) {
        out.names.push_back(before + joint + "/" + kind);
      }
    }
    return out;
  }

  InterfaceConfiguration state_interface_configuration() const override
  {
    InterfaceConfiguration out{
      controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    for (const auto & joint : joints_) {
      out.names.push_back(joint + "/" + hardware_interface::HW_IF_POSITION);
    }
    return out;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    const auto node = get_node();
    joints_ = node->get_parameter("joints").as_string_array();
    kinds_ = node->get_parameter("command_interfaces").as_string_array();
    downstream_ = node->get_parameter("downstream").as_string();
    start_tolerance_ = node->get_parameter("start_tolerance").as_double();
    const std::size_t n = joints_.size();
    const auto row = [&](const char * name) {
      return node->get_parameter(std::string("limits.") + name).as_double_array();
    };
    limits_ = {row("lower"), row("upper"), row("velocity"), row("acceleration")};
    bool fine = n > 0 && !kinds_.empty();
    for (const auto * values :
         {&limits_.lower, &limits_.upper, &limits_.velocity, &limits_.acceleration}) {
      fine = fine && values->size() == n;
    }
    for (std::size_t j = 0; fine && j < n; ++j) {
      fine = limits_.lower[j] < limits_.upper[j] && limits_.velocity[j] > 0.0 &&
             limits_.acceleration[j] > 0.0;
    }
    for (const auto & kind : kinds_) {
      fine = fine && (kind == hardware_interface::HW_IF_POSITION ||
                      kind == hardware_interface::HW_IF_VELOCITY ||
                      kind == hardware_interface::HW_IF_ACCELERATION);
    }
    const double executor = node->get_parameter("executor_timeout").as_double();
    const double deviation = node->get_parameter("deviation").as_double();
    if (!fine || !(executor > 0.0) || !(deviation > 0.0) || !(start_tolerance_ >= 0.0)) {
      RCLCPP_ERROR(
        node->get_logger(),
        "joints, limits.lower, .upper, .velocity and .acceleration need one value per joint, positive"
        " except positions; command_interfaces can be position, velocity and acceleration;"
        " executor_timeout and deviation must be positive.");
      return CallbackReturn::ERROR;
    }
    const std::string wrench = node->get_parameter("wrench_topic").as_string();
    motion_ = std::make_unique<GuardedMotion>(
      limits_.acceleration, deviation, executor,
      wrench.empty() ? 0.0 : node->get_parameter("wrench_timeout").as_double(),
      1.0 / std::max(1u, get_update_rate()));
    commands_.clear();
    for (const auto & kind : kinds_) {
      commands_.push_back(
        kind == hardware_interface::HW_IF_POSITION   ? motion_->q()
        : kind == hardware_interface::HW_IF_VELOCITY ? motion_->v()
                                                     : motion_->a());
    }
    q_.assign(n, 0.0);
    held_ = std::make_unique<std::atomic<double>[]>(n);
    heartbeat_in_ = node->create_subscription<std_msgs::msg::Empty>(
      "~/heartbeat", rclcpp::QoS(1), [this](const std_msgs::msg::Empty &) { ++executor_; });
    if (!wrench.empty()) {
      wrench_in_ = node->create_subscription<geometry_msgs::msg::WrenchStamped>(
        wrench, rclcpp::SensorDataQoS(),
        [this](const geometry_msgs::msg::WrenchStamped &) { ++wrench_; });
    }
    trajectory_in_ = node->create_subscription<JointTrajectory>(
      "~/trajectory", rclcpp::QoS(1), [this](const JointTrajectory & message) { keep(message); });
    play_ = node->create_service<Trigger>(
      "~/play", [this](const Trigger::Request::SharedPtr, Trigger::Response::SharedPtr answer) {
        play(*answer);
      });
    stop_ = node->create_service<Trigger>(
      "~/stop", [this](const Trigger::Request::SharedPtr, Trigger::Response::SharedPtr answer) {
        stopping_ = true;
        answer->success = true;
      });
    state_out_ = node->create_publisher<std_msgs::msg::String>(
      "~/state", rclcpp::QoS(5).transient_local());  // a short braking is followed by "holding"
    kept_out_ = node->create_publisher<std_msgs::msg::Header>("~/kept", rclcpp::QoS(1));
    refused_out_ = node->create_publisher<std_msgs::msg::String>("~/refused", rclcpp::QoS(1));
    reference_out_ = node->create_publisher<JointTrajectory>("~/reference", rclcpp::QoS(1));
    reference_.joint_names = joints_;
    reference_.points.resize(1);
    reference_.points[0].positions.resize(n);
    using namespace std::chrono_literals;
    report_ = node->create_wall_timer(50ms, [this] { report(); });
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    if (!read()) {
      RCLCPP_ERROR(get_node()->get_logger(), "Joint states are not finite.");
      return CallbackReturn::ERROR;
    }
    mailbox_.withdraw();
    reference_interfaces_.assign(reference_interfaces_.size(), 1.0);
    stopping_ = false;
    motion_->hold(q_.data());
    tell(get_node()->now());
    return CallbackReturn::SUCCESS;
  }

  /// Commands the last position with zero velocity and acceleration. The controller manager deactivates
  /// without braking: to brake along the path, call `~/stop` and wait for "holding" first.
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    cut_off_ = motion_->moving();
    motion_->hold(motion_->q());
    tell(get_node()->now());
    delete path_;
    path_ = nullptr;
    return write() ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
  }

  ~MotionGuard() override { delete path_; }

  return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    reference_interfaces_[0] = 1.0;
    return return_type::OK;
  }

  return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override
  {
    read();
    motion_->update(
      {q_.data(), executor_.load(), wrench_.load(), stopping_.exchange(false),
       reference_interfaces_[0]},
      period.seconds());
    if (Path * offered = mailbox_.take()) {
      if (motion_->begin(*offered)) {
        std::swap(path_, offered);
      } else {
        refused_ = true;
      }
      if (offered != nullptr) {
        mailbox_.give_back(offered);
      }
    }
    tell(time);
    return write() ? return_type::OK : return_type::ERROR;
  }

protected:
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override
  {
    reference_interfaces_.assign(1, 1.0);
    std::vector<hardware_interface::CommandInterface> out;
    out.emplace_back(std::string(get_node()->get_name()), "speed", &reference_interfaces_[0]);
    return out;
  }

  bool on_set_chained_mode(bool) override { return true; }

private:
  /// Read the positions; NaN if the hardware provides none. \return True if all are finite.
  bool read() noexcept
  {
    bool finite = true;
    for (std::size_t j = 0; j < q_.size(); ++j) {
      q_[j] = state_interfaces_[j].get_optional().value_or(NAN);
      finite = finite && std::isfinite(q_[j]);
    }
    return finite;
  }

  /// Write the commands of the motion. \return True if all could be written.
  bool write() noexcept
  {
    bool written = true;
    auto command = command_interfaces_.begin();
    for (const double * values : commands_) {
      for (std::size_t j = 0; j < q_.size(); ++j) {
        written = (command++)->set_value(values[j]) && written;
      }
    }
    return written;
  }

  /// Publish the state to the ordinary thread, the numbers of motions and brakings last: a report that
  /// sees a new number sees what belongs to it.
  void tell(const rclcpp::Time & time) noexcept
  {
    constexpr auto order = std::memory_order_relaxed;
    time_ns_.store(time.nanoseconds(), order);
    place_.store(motion_->place() - (path_ != nullptr ? path_->origin() : 0.0), order);
    for (std::size_t j = 0; j < q_.size(); ++j) {
      held_[j].store(motion_->q()[j], order);
    }
    fault_.store(motion_->fault(), order);
    cause_.store(motion_->cause(), order);
    doing_.store(motion_->doing(), order);
    begun_.store(motion_->begun(), std::memory_order_release);
    brakings_.store(motion_->brakings(), std::memory_order_release);
  }

  /// Check a trajectory with the approach from the held position, and store it for `~/play`.
  void keep(const JointTrajectory & message)
  {
    kept_.reset();
    const std::size_t n = joints_.size(), K = message.points.size();
    double origin = 0.0;
    std::vector<std::size_t> column(n);
    std::string why = message.joint_names.size() == n ? "" : "it has other joints";
    for (std::size_t j = 0; why.empty() && j < n; ++j) {
      const auto & names = message.joint_names;
      const auto found = std::find(names.begin(), names.end(), joints_[j]);
      column[j] = static_cast<std::size_t>(found - names.begin());
      if (found == names.end()) {
        why = "it lacks the joint " + joints_[j];
      }
    }
    std::vector<double> t, q, v, a;
    for (std::size_t k = 0; why.empty() && k < K; ++k) {
      const auto & point = message.points[k];
      if (
        point.positions.size() != n || point.velocities.size() != n ||
        point.accelerations.size() != n) {
        why = "its points need positions, velocities and accelerations of all joints";
        break;
      }
      t.push_back(rclcpp::Duration(point.time_from_start).seconds());
      for (std::size_t j = 0; j < n; ++j) {
        q.push_back(point.positions[column[j]]);
        v.push_back(point.velocities[column[j]]);
        a.push_back(point.accelerations[column[j]]);
      }
    }
    if (why.empty() && K > 0) {
      why = approach(t, q, v, a, origin);
    }
    if (why.empty()) {
      const double period = 1.0 / std::max(1u, get_update_rate());
      auto path = std::make_unique<Path>(n, t, q, v, a, origin);
      why = path->refusal(limits_, period).value_or("");
      kept_ = why.empty() ? std::move(path) : nullptr;
    }
    if (!why.empty()) {
      refuse(why);
    } else {
      kept_out_->publish(message.header);
      RCLCPP_INFO(get_node()->get_logger(), "The trajectory is accepted: ~/play starts it.");
    }
  }

  void refuse(const std::string & why)
  {
    RCLCPP_WARN(get_node()->get_logger(), "The trajectory is refused: %s.", why.c_str());
    std_msgs::msg::String message;
    message.data = why;
    refused_out_->publish(message);
  }

  /// Insert the approach from the held position to the first point, from rest to rest, of duration `T` [s].
  std::string approach(
    std::vector<double> & t, std::vector<double> & q, std::vector<double> & v,
    std::vector<double> & a, double & T) const
  {
    const std::size_t n = joints_.size();
    for (std::size_t j = 0; j < n; ++j) {
      const double d = std::fabs(q[j] - held_[j]);
      if (!(d <= start_tolerance_)) {
        return "its first point is " + std::to_string(d) + " rad away from the position of joint " + joints_[j];
      }
      // Peaks of a quintic from rest to rest: velocity 15/8 d/T, acceleration 10/sqrt(3) d/T^2.
      T = std::max({T, 1.875 * d / limits_.velocity[j],
                    std::sqrt(10.0 / std::sqrt(3.0) * d / limits_.acceleration[j])});
    }
    const double first = t.front();
    for (double & x : t) {
      x += T - first;
    }
    if (T > 0.0) {
      t.insert(t.begin(), 0.0);
      q.insert(q.begin(), n, 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        q[j] = held_[j];
      }
      v.insert(v.begin(), n, 0.0);
      a.insert(a.begin(), n, 0.0);
    }
    return "";
  }

  void play(Trigger::Response & answer)
  {
    const Guard doing = doing_, fault = fault_;
    answer.success = kept_ != nullptr && doing == Guard::kHolding && fault == Guard::kHolding;
    if (answer.success) {
      mailbox_.offer(std::move(kept_));
    } else if (kept_ == nullptr) {
      answer.message = "There is no accepted trajectory: send one to ~/trajectory.";
    } else {
      answer.message = doing != Guard::kHolding ? name_of(doing) : name_of(fault);
    }
  }

  void report()
  {
    mailbox_.clear();
    if (refused_.exchange(false)) {
      refuse("its first point is not the held position");
    }
    if (cut_off_.exchange(false)) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "Deactivated in motion: the drives stopped the robot abruptly."
        " Call ~/stop and wait for 'holding' first.");
    }
    const std::uint32_t begun = begun_, brakings = brakings_;
    const Guard doing = doing_;
    if (doing != Guard::kHolding) {
      reference_.header.stamp = rclcpp::Time(time_ns_);
      reference_.points[0].time_from_start = rclcpp::Duration::from_seconds(place_);
      std::copy_n(held_.get(), joints_.size(), reference_.points[0].positions.begin());
      reference_out_->publish(reference_);
    }
    if (brakings != reported_brakings_ && doing == Guard::kHolding) {  // it was short
      say(cause_);
    }
    if (doing != reported_ || begun != reported_begun_) {  // even after a very short motion
      say(doing);
    }
    reported_ = doing;
    reported_begun_ = begun;
    reported_brakings_ = brakings;
  }

  void say(Guard state)
  {
    std_msgs::msg::String message;
    message.data = name_of(state);
    state_out_->publish(message);
    RCLCPP_INFO(get_node()->get_logger(), "%s", message.data.c_str());
  }

  std::vector<std::string> joints_, kinds_;
  std::string downstream_;
  JointLimits limits_;
  double start_tolerance_ = 0.0;
  std::unique_ptr<GuardedMotion> motion_;
  std::vector<double> q_;
  std::vector<const double *> commands_;  // values of each kind, in the motion
  std::unique_ptr<std::atomic<double>[]> held_;
  std::atomic<std::uint32_t> executor_{0}, wrench_{0}, begun_{0}, brakings_{0};
  std::atomic<double> place_{0.0};
  std::atomic<std::int64_t> time_ns_{0};
  std::uint32_t reported_begun_ = 0, reported_brakings_ = 0;
  std::atomic<bool> stopping_{false}, refused_{false}, cut_off_{false};
  std::atomic<Guard> doing_{Guard::kHolding}, cause_{Guard::kHolding}, fault_{Guard::kHolding};
  Guard reported_ = Guard::kPlaying;
  std::unique_ptr<Path> kept_;
  Path * path_ = nullptr;  // owned by the real-time thread
  Mailbox<Path> mailbox_;
  rclcpp::Subscription<std_msgs::msg::Empty>::SharedPtr heartbeat_in_;
  rclcpp::Subscription<geometry_msgs::msg::WrenchStamped>::SharedPtr wrench_in_;
  rclcpp::Subscription<JointTrajectory>::SharedPtr trajectory_in_;
  rclcpp::Service<Trigger>::SharedPtr play_, stop_;
  rclcpp::Publisher<std_msgs::msg::String>::SharedPtr state_out_, refused_out_;
  rclcpp::Publisher<std_msgs::msg::Header>::SharedPtr kept_out_;
  rclcpp::Publisher<JointTrajectory>::SharedPtr reference_out_;
  JointTrajectory reference_;
  rclcpp::TimerBase::SharedPtr report_;
};

}  // namespace robot_sysid_controllers

PLUGINLIB_EXPORT_CLASS(
  robot_sysid_controllers::MotionGuard, controller_interface::ChainableControllerInterface)
