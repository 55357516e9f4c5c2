// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <hardware_interface/system_interface.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <memory>
#include <pluginlib/class_list_macros.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "robot_sysid_controllers/mujoco_robot.hpp"

namespace robot_sysid_controllers
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

/// The MJCF of `sysid export` as simulated hardware of ros2_control. The claimed command interface of a
/// joint selects the mode of its drive.
///
/// Parameters of `<hardware>`: `model`, the file; `bandwidth` of position and velocity control [rad/s].
/// The `initial_value` of the state interface `position` is the initial position of the joint.
class MujocoSystem : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    const auto & given = get_hardware_info().hardware_parameters;
    const auto model = given.find("model"), bandwidth = given.find("bandwidth");
    std::vector<std::string> names;
    for (const auto & joint : get_hardware_info().joints) {
      names.push_back(joint.name);
      start_.push_back(0.0);
      for (const auto & state : joint.state_interfaces) {
        if (state.name == hardware_interface::HW_IF_POSITION && !state.initial_value.empty()) {
          start_.back() = std::stod(state.initial_value);
        }
      }
    }
    try {
      const double w = bandwidth == given.end() ? kBandwidth : std::stod(bandwidth->second);
      if (model == given.end() || !(w > 0.0)) {
        throw std::runtime_error("<hardware> needs the param `model`, and a positive `bandwidth`.");
      }
      robot_ = std::make_unique<MujocoRobot>(model->second, names, w);
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    const auto either = [](bool has, const std::string & name) {
      return has ? name : std::string();
    };
    for (const auto & joint : get_hardware_info().joints) {
      Names of{};
      const auto & states = joint.state_interfaces;
      const auto & commands = joint.command_interfaces;
      const auto among = [](const auto & all, const char * kind) {
        return std::any_of(
          all.begin(), all.end(), [kind](const auto & one) { return one.name == kind; });
      };
      for (std::size_t k = 0; k < 3; ++k) {
        const std::string name = joint.name + "/" + kKinds[k];
        of.state[k] = either(among(states, kKinds[k]), name);
        of.command[k] = either(among(commands, kKinds[k]), name);
      }
      names_.push_back(of);
      claimed_.push_back({});
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    robot_->reset(start_.data());
    tell();
    return CallbackReturn::SUCCESS;
  }

  return_type perform_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override
  {
    const auto mark = [this](const std::vector<std::string> & interfaces, bool on) {
      for (std::size_t j = 0; j < names_.size(); ++j) {
        for (std::size_t k = 0; k < 3; ++k) {
          const auto & name = names_[j].command[k];
          const bool here = std::find(interfaces.begin(), interfaces.end(), name) != interfaces.end();
          claimed_[j][k] = !name.empty() && here ? on : claimed_[j][k];
        }
      }
    };
    mark(stop, false);
    mark(start, true);
    for (std::size_t j = 0; j < names_.size(); ++j) {
      using Mode = MujocoRobot::Mode;
      const auto [position, velocity, effort] = claimed_[j];
      // No command is written yet: until then, the joint holds its position.
      for (std::size_t k = 0; k < 3; ++k) {
        if (claimed_[j][k]) {
          set_command(names_[j].command[k], k == 0 ? robot_->q(j) : 0.0);
        }
      }
      robot_->commands[j].mode = effort     ? Mode::kEffort
                                 : position ? Mode::kPosition
                                 : velocity ? Mode::kVelocity
                                            : Mode::kHold;
    }
    return return_type::OK;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    robot_->advance(period.seconds());
    tell();
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (std::size_t j = 0; j < names_.size(); ++j) {
      const auto told = [&](std::size_t k) {
        return claimed_[j][k] ? get_command(names_[j].command[k]) : 0.0;
      };
      auto & command = robot_->commands[j];
      command.q = told(0);
      command.v = told(1);
      command.effort = told(2);
    }
    return return_type::OK;
  }

private:
  static constexpr double kBandwidth = 100.0;  // [rad/s], typical of an arm's position control
  static constexpr const char * kKinds[3] = {
    hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY,
    hardware_interface::HW_IF_EFFORT};

  /// Interfaces of a joint by kind; empty: none.
  struct Names
  {
    std::array<std::string, 3> state, command;
  };

  void tell()
  {
    for (std::size_t j = 0; j < names_.size(); ++j) {
      const std::array<double, 3> values{robot_->q(j), robot_->v(j), robot_->effort(j)};
      for (std::size_t k = 0; k < 3; ++k) {
        if (!names_[j].state[k].empty()) {
          set_state(names_[j].state[k], values[k]);
        }
      }
    }
  }

  std::unique_ptr<MujocoRobot> robot_;
  std::vector<Names> names_;
  std::vector<std::array<bool, 3>> claimed_;
  std::vector<double> start_;
};

}  // namespace robot_sysid_controllers

PLUGINLIB_EXPORT_CLASS(
  robot_sysid_controllers::MujocoSystem, hardware_interface::SystemInterface)
