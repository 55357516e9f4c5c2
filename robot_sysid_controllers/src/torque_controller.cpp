// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <controller_interface/chainable_controller_interface.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <pluginlib/class_list_macros.hpp>
#include <robot_sysid/msg/inertial_estimate.hpp>
#include <robot_sysid/msg/payload_estimate.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <string>
#include <vector>

#include "robot_sysid_controllers/gravity_check.hpp"
#include "robot_sysid_controllers/inertial_parameters.hpp"
#include "robot_sysid_controllers/mailbox.hpp"
#include "robot_sysid_controllers/torque_law.hpp"

namespace robot_sysid_controllers
{
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using robot_sysid::msg::InertialEstimate;
using robot_sysid::msg::PayloadEstimate;
using std_srvs::srv::Trigger;

/// Efforts from the identified model: computed torque if another controller provides references,
/// otherwise gravity compensation.
///
/// Parameters are received on `~/parameters`, a payload on `~/payload`. They are used after a person has
/// called `~/use_parameters` or `~/use_payload`, and change the torques by at most `torque_change` N m/s.
class TorqueController : public controller_interface::ChainableControllerInterface
{
public:
  CallbackReturn on_init() override
  {
    auto_declare<std::string>("model_library", "");
    auto_declare<std::string>("model_prefix", "");
    auto_declare<std::string>("urdf_hash", "");
    auto_declare<std::string>("payload_body", "");
    auto_declare<std::vector<double>>("payload_position", {0.0, 0.0, 0.0});
    auto_declare<std::vector<double>>("payload_rotation", {1, 0, 0, 0, 1, 0, 0, 0, 1});
    auto_declare<std::vector<double>>("effort_limit", {});
    auto_declare<std::vector<double>>("velocity_limit", {});
    auto_declare<double>("payload_age", 60.0);
    auto_declare<double>("bandwidth", 10.0);
    auto_declare<double>("feedback_limit", 50.0);
    auto_declare<double>("largest_step", 0.05);
    auto_declare<double>("damping", 0.0);
    auto_declare<double>("torque_change", 5.0);
    auto_declare<double>("gravity_factor", 3.0);
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override
  {
    return of_joints({hardware_interface::HW_IF_EFFORT});
  }

  InterfaceConfiguration state_interface_configuration() const override
  {
    return of_joints({hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY});
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    const auto node = get_node();
    try {
      model_ = std::make_unique<ExportedModel>(
        node->get_parameter("model_library").as_string(),
        node->get_parameter("model_prefix").as_string());
    } catch (const std::exception & error) {
      RCLCPP_ERROR(node->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    const std::size_t n = model_->joint_names().size();
    TorqueLawOptions options;
    options.bandwidth = node->get_parameter("bandwidth").as_double();
    options.feedback_limit = node->get_parameter("feedback_limit").as_double();
    options.damping = node->get_parameter("damping").as_double();
    options.step = node->get_parameter("largest_step").as_double();
    options.period = 1.0 / std::max(1u, get_update_rate());
    options.effort = node->get_parameter("effort_limit").as_double_array();
    options.velocity = node->get_parameter("velocity_limit").as_double_array();
    payload_age_ = node->get_parameter("payload_age").as_double();
    const double change = node->get_parameter("torque_change").as_double();
    options.change.assign(n, change);
    gravity_factor_ = node->get_parameter("gravity_factor").as_double();
    const auto positive = [](double x) { return std::isfinite(x) && x > 0.0; };
    const auto each = [&](const std::vector<double> & limits) {
      return limits.size() == n && std::all_of(limits.begin(), limits.end(), positive);
    };
    if (
      !each(options.effort) || !each(options.velocity) || !positive(change) ||
      !positive(options.bandwidth) || !positive(options.feedback_limit) || !positive(payload_age_) ||
      !positive(options.step) ||
      !(options.damping >= 0.0) || !(gravity_factor_ > 1.0)) {
      RCLCPP_ERROR(
        node->get_logger(),
        "effort_limit and velocity_limit need %zu positive values each; torque_change, bandwidth,"
        " feedback_limit, largest_step and payload_age must be positive, damping not negative,"
        " gravity_factor above 1.",
        n);
      return CallbackReturn::ERROR;
    }
    if (!place_payload()) {
      return CallbackReturn::ERROR;
    }
    law_ = std::make_unique<TorqueLaw>(*model_, options);
    base_ = model_->parameters();
    payload_.fill(0.0);
    q_.assign(n, 0.0);
    v_.assign(n, 0.0);
    tau_.assign(n, 0.0);
    const auto latched = rclcpp::QoS(1).transient_local();
    parameters_in_ = node->create_subscription<InertialEstimate>(
      "~/parameters", latched, [this](const InertialEstimate & message) { offer(message); });
    payload_in_ = node->create_subscription<PayloadEstimate>(
      "~/payload", latched, [this](const PayloadEstimate & message) { offer(message); });
    use_parameters_ = node->create_service<Trigger>(
      "~/use_parameters",
      [this](const Trigger::Request::SharedPtr, Trigger::Response::SharedPtr answer) {
        use(*answer, offered_, base_, "parameters");
      });
    use_payload_ = node->create_service<Trigger>(
      "~/use_payload",
      [this](const Trigger::Request::SharedPtr, Trigger::Response::SharedPtr answer) {
        if (offered_payload_ && !is_recent(weighed_at_)) {
          offered_payload_.reset();
        }
        use(*answer, offered_payload_, payload_, "payload");
      });
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    std::fill(
      reference_interfaces_.begin(), reference_interfaces_.end(),
      std::numeric_limits<double>::quiet_NaN());
    if (!read()) {
      RCLCPP_ERROR(get_node()->get_logger(), "Joint states are not finite.");
      return CallbackReturn::ERROR;
    }
    law_->reset(q_.data());
    return CallbackReturn::SUCCESS;
  }

  /// Commands zero effort, like trajectory controllers: the last effort would continue to accelerate.
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    bool written = true;
    for (auto & command : command_interfaces_) {
      written = command.set_value(0.0) && written;
    }
    return written ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
  }

  return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    return return_type::OK;  // not chained, hence no reference: gravity compensation
  }

  return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    if (law_->settled()) {
      if (auto * parameters = mailbox_.take()) {
        law_->go_to(parameters->data());
        mailbox_.give_back(parameters);
      }
    }
    const std::size_t n = q_.size();
    const double * wanted = reference_interfaces_.data();
    const Reference reference{wanted, wanted + n, wanted + 2 * n};
    const bool referred =
      is_in_chained_mode() &&
      std::all_of(wanted, wanted + 3 * n, [](double x) { return std::isfinite(x); });
    if (
      !read() ||
      !law_->update(
        q_.data(), v_.data(), referred ? &reference : nullptr, period.seconds(), tau_.data())) {
      return return_type::ERROR;
    }
    bool written = true;
    for (std::size_t j = 0; j < n; ++j) {
      written = command_interfaces_[j].set_value(tau_[j]) && written;
    }
    return written ? return_type::OK : return_type::ERROR;
  }

protected:
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override
  {
    const auto & joints = model_->joint_names();
    reference_interfaces_.assign(3 * joints.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<hardware_interface::CommandInterface> out;
    for (const char * kind :
         {hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY,
          hardware_interface::HW_IF_ACCELERATION}) {
      for (const auto & joint : joints) {
        out.emplace_back(
          std::string(get_node()->get_name()), joint + "/" + kind,
          &reference_interfaces_[out.size()]);
      }
    }
    return out;
  }

  bool on_set_chained_mode(bool) override { return true; }

private:
  InterfaceConfiguration of_joints(const std::vector<std::string> & kinds) const
  {
    InterfaceConfiguration out{
      controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    for (const auto & kind : kinds) {
      for (const auto & joint : model_->joint_names()) {
        out.names.push_back(joint + "/" + kind);
      }
    }
    return out;
  }

  bool read() noexcept
  {
    const std::size_t n = q_.size();
    bool finite = true;
    for (std::size_t j = 0; j < n; ++j) {
      q_[j] = state_interfaces_[j].get_optional().value_or(NAN);
      v_[j] = state_interfaces_[n + j].get_optional().value_or(NAN);
      finite = finite && std::isfinite(q_[j] + v_[j]);
    }
    return finite;
  }

  bool place_payload()
  {
    const auto node = get_node();
    const std::string body = node->get_parameter("payload_body").as_string();
    const auto position = node->get_parameter("payload_position").as_double_array();
    const auto rotation = node->get_parameter("payload_rotation").as_double_array();
    if (body.empty()) {
      payload_row_.reset();
      return true;
    }
    const auto & names = model_->parameter_names();
    const auto found = std::find(names.begin(), names.end(), body + ".m");
    if (found == names.end() || position.size() != 3 || rotation.size() != 9) {
      RCLCPP_ERROR(
        node->get_logger(), "payload_body must be a body of the model, with a position of 3 and a"
        " rotation of 9 numbers (row-major).");
      return false;
    }
    payload_row_ = static_cast<std::size_t>(found - names.begin());
    std::copy_n(position.begin(), 3, payload_position_.begin());
    std::copy_n(rotation.begin(), 9, payload_rotation_.begin());
    return true;
  }

  void offer(const InertialEstimate & message)
  {
    if (message.model != "robot" || message.names.size() != message.values.size()) {
      return;
    }
    const std::string hash = get_node()->get_parameter("urdf_hash").as_string();
    std::map<std::string, double> given;
    for (std::size_t k = 0; k < message.names.size(); ++k) {
      given[message.names[k]] = message.values[k];
    }
    std::vector<double> parameters = model_->parameters();
    const auto & names = model_->parameter_names();
    const std::size_t bodies = 10 * model_->joint_names().size();
    std::string refused = hash.empty() || hash == message.urdf_hash ? "" : "it belongs to another robot";
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto found = given.find(names[k]);
      if (found == given.end()) {
        refused = "it lacks " + names[k] + "; base parameters are not sufficient";
      } else if (!std::isfinite(found->second)) {
        refused = names[k] + " is not finite";
      } else {
        parameters[k] = found->second;
      }
    }
    for (std::size_t i = 0; refused.empty() && i < bodies; i += 10) {
      if (!is_physically_consistent(&parameters[i])) {
        refused = names[i] + " belongs to a body that is physically inconsistent";
      }
    }
    if (refused.empty()) {
      refused = gravity_refusal(*model_, parameters, gravity_factor_);
    }
    if (!refused.empty()) {
      RCLCPP_WARN(get_node()->get_logger(), "The estimate is refused: %s.", refused.c_str());
      return;
    }
    offered_ = std::move(parameters);
    RCLCPP_INFO(get_node()->get_logger(), "The parameters are accepted: ~/use_parameters applies them.");
  }

  void offer(const PayloadEstimate & message)
  {
    const auto & I = message.inertia;
    const std::array<double, 3> com{I.com.x, I.com.y, I.com.z};
    const std::array<double, 6> about{I.ixx, I.ixy, I.iyy, I.ixz, I.iyz, I.izz};
    const InertialParameters pi = inertial_parameters_in(
      I.m, com.data(), about.data(), payload_rotation_.data(), payload_position_.data());
    const bool known = message.state >= PayloadEstimate::COM_KNOWN;
    const bool recent = is_recent(message.header.stamp);
    if (!payload_row_ || !known || !recent || !is_physically_consistent(pi.data())) {
      RCLCPP_WARN(
        get_node()->get_logger(), "The payload is refused: %s.",
        !payload_row_ ? "payload_body is not set"
        : !known      ? "its centre of mass is not known yet"
        : !recent     ? "its stamp is older than payload_age, or in the future"
                      : "it is physically inconsistent");
      return;
    }
    offered_payload_ = pi;
    weighed_at_ = message.header.stamp;
    RCLCPP_INFO(get_node()->get_logger(), "The payload is accepted: ~/use_payload applies it.");
  }

  /// True if a payload's stamp is neither older than `payload_age` nor in the future: the robot may hold
  /// another object by now. Clocks may differ by as much as in `sysid_core.clock_gate`.
  bool is_recent(const rclcpp::Time & stamp) const
  {
    constexpr double kAhead = 0.05;  // [s]
    const rclcpp::Time now(get_node()->now().nanoseconds(), stamp.get_clock_type());
    const double age = (now - stamp).seconds();
    return -kAhead <= age && age <= payload_age_;
  }

  template <typename T>
  void use(Trigger::Response & answer, std::optional<T> & offered, T & kept, const char * what)
  {
    answer.success = offered.has_value();
    if (!answer.success) {
      answer.message = std::string("No accepted message on ~/") + what + ".";
      return;
    }
    kept = *offered;
    offered.reset();
    auto all = std::make_unique<std::vector<double>>(base_);
    for (std::size_t k = 0; payload_row_ && k < payload_.size(); ++k) {
      (*all)[*payload_row_ + k] += payload_[k];
    }
    mailbox_.offer(std::move(all));
    answer.message = std::string("Being blended in: ") + what + ".";
  }

  std::unique_ptr<ExportedModel> model_;
  std::unique_ptr<TorqueLaw> law_;
  Mailbox<std::vector<double>> mailbox_;
  std::vector<double> base_, q_, v_, tau_;
  InertialParameters payload_{};
  double gravity_factor_ = 0.0, payload_age_ = 0.0;
  rclcpp::Time weighed_at_;
  std::optional<std::vector<double>> offered_;
  std::optional<InertialParameters> offered_payload_;
  std::optional<std::size_t> payload_row_;
  std::array<double, 3> payload_position_{};
  std::array<double, 9> payload_rotation_{};
  rclcpp::Subscription<InertialEstimate>::SharedPtr parameters_in_;
  rclcpp::Subscription<PayloadEstimate>::SharedPtr payload_in_;
  rclcpp::Service<Trigger>::SharedPtr use_parameters_, use_payload_;
};

}  // namespace robot_sysid_controllers

PLUGINLIB_EXPORT_CLASS(
  robot_sysid_controllers::TorqueController, controller_interface::ChainableControllerInterface)
