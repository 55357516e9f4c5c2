// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace robot_sysid_controllers
{

/// A robot simulated by MuJoCo, whose drives follow commanded efforts, positions or velocities.
///
/// A drive without a command holds its joint like a brake. Position and velocity control demands the
/// acceleration `w^2 (q_c - q) + 2 w (v_c - v)` (w: bandwidth), with the torque from MuJoCo's model.
class MujocoRobot
{
public:
  /// Mode of a drive.
  enum class Mode { kHold, kEffort, kPosition, kVelocity };

  /// Command of a drive: q [rad or m], v [rad/s or m/s], effort [N m or N]; v is 0 if only q is given.
  struct Command
  {
    Mode mode = Mode::kHold;
    double q = 0.0, v = 0.0, effort = 0.0;
  };

  /// \param file MJCF of `sysid export`, with a motor (gain 1) at each of the joints.
  /// \param joints Joint names (n). \param bandwidth Of position and velocity control [rad/s].
  /// \throws std::runtime_error The file can't be read, or a joint has no such motor.
  MujocoRobot(const std::string & file, const std::vector<std::string> & joints, double bandwidth)
  : commands(joints.size()), model_(load(file), mj_deleteModel), bandwidth_(bandwidth)
  {
    data_.reset(mj_makeData(model_.get()));
    for (const auto & name : joints) {
      const int joint = mj_name2id(model_.get(), mjOBJ_JOINT, name.c_str());
      int motor = -1;
      for (int i = 0; joint >= 0 && i < static_cast<int>(model_->nu); ++i) {
        const bool here = model_->actuator_trntype[i] == mjTRN_JOINT &&
                          model_->actuator_trnid[2 * i] == joint;
        motor = here && model_->actuator_gainprm[mjNGAIN * i] == 1.0 ? i : motor;
      }
      if (motor < 0) {
        throw std::runtime_error("The joint '" + name + "' of '" + file + "' has no motor.");
      }
      position_.push_back(model_->jnt_qposadr[joint]);
      dof_.push_back(model_->jnt_dofadr[joint]);
      motor_.push_back(motor);
    }
    wanted_.assign(static_cast<std::size_t>(model_->nv), 0.0);
    torque_ = wanted_;
    held_.assign(joints.size(), 0.0);
    reset(held_.data());
  }

  /// Command of each drive (n); read by the next `advance`.
  std::vector<Command> commands;

  /// Set the position (n) [rad or m], at rest.
  void reset(const double * q) noexcept
  {
    mj_resetData(model_.get(), data_.get());
    for (std::size_t j = 0; j < dof_.size(); ++j) {
      data_->qpos[position_[j]] = held_[j] = q[j];
    }
    left_ = 0.0;
    mj_forward(model_.get(), data_.get());
  }

  /// Simulate a duration [s] with the model's step size; the remainder is added to the next call.
  void advance(double dt) noexcept
  {
    constexpr double kMost = 0.1;  // longest delay of the process that is made up for [s]
    left_ = std::min(left_ + dt, kMost);
    for (; left_ >= model_->opt.timestep; left_ -= model_->opt.timestep) {
      mj_step1(model_.get(), data_.get());
      drive();
      mj_step2(model_.get(), data_.get());
    }
  }

  double q(std::size_t j) const noexcept { return data_->qpos[position_[j]]; }
  double v(std::size_t j) const noexcept { return data_->qvel[dof_[j]]; }
  /// Effort of the drive [N m or N].
  double effort(std::size_t j) const noexcept { return data_->ctrl[motor_[j]]; }

private:
  static mjModel * load(const std::string & file)
  {
    char error[500] = "";
    mjModel * model = mj_loadXML(file.c_str(), nullptr, error, sizeof(error));
    if (model == nullptr) {
      throw std::runtime_error("'" + file + "' can't be read: " + error);
    }
    return model;
  }

  void drive() noexcept
  {
    const double w = bandwidth_;
    for (std::size_t j = 0; j < dof_.size(); ++j) {
      const Command & c = commands[j];
      if (c.mode != Mode::kHold) {
        held_[j] = q(j);
      }
      const double behind = c.mode == Mode::kHold       ? held_[j] - q(j)
                            : c.mode == Mode::kPosition ? c.q - q(j)
                                                        : 0.0;
      const double slow = (c.mode == Mode::kHold ? 0.0 : c.v) - v(j);
      wanted_[dof_[j]] = w * w * behind + 2.0 * w * slow;
    }
    mj_mulM(model_.get(), data_.get(), torque_.data(), wanted_.data());
    for (std::size_t j = 0; j < dof_.size(); ++j) {
      const int i = motor_[j], k = dof_[j];
      const double follows = torque_[k] + data_->qfrc_bias[k] - data_->qfrc_passive[k];
      const double tau = commands[j].mode == Mode::kEffort ? commands[j].effort : follows;
      const bool limited = model_->actuator_ctrllimited[i] != 0;
      const double * range = model_->actuator_ctrlrange + 2 * i;
      data_->ctrl[i] = !std::isfinite(tau) ? 0.0 : limited ? std::clamp(tau, range[0], range[1]) : tau;
    }
  }

  struct Deleter
  {
    void operator()(mjData * data) const { mj_deleteData(data); }
  };

  std::unique_ptr<mjModel, void (*)(mjModel *)> model_;
  std::unique_ptr<mjData, Deleter> data_;
  const double bandwidth_;
  std::vector<int> position_, dof_, motor_;
  std::vector<double> wanted_, torque_, held_;
  double left_ = 0.0;
};

}  // namespace robot_sysid_controllers
