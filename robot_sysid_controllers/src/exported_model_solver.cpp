// SPDX-License-Identifier: Apache-2.0
#include <inverse_dynamics_solver/inverse_dynamics_solver.h>

#include <algorithm>
#include <memory>
#include <pluginlib/class_list_macros.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "robot_sysid_controllers/exported_model.hpp"

namespace robot_sysid_controllers
{

/// `inverse_dynamics_solver` with the exported C model; parameters `model_library` and `model_prefix`.
///
/// As in the interface, the torques contain no friction; they include the drive inertia.
class ExportedModelSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters,
    const std::string & param_namespace, const std::string & /* robot_description */) override
  {
    if (parameters == nullptr) {
      throw std::runtime_error("ExportedModelSolver needs the parameter model_library.");
    }
    const std::string before = param_namespace.empty() ? "" : param_namespace + ".";
    std::string prefix;
    if (parameters->has_parameter(before + "model_prefix")) {
      prefix = parameters->get_parameter(before + "model_prefix").as_string();
    }
    model_ = std::make_unique<ExportedModel>(
      parameters->get_parameter(before + "model_library").as_string(), prefix);
    n_ = static_cast<Eigen::Index>(model_->joint_names().size());
  }

  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & q) const override
  {
    Eigen::MatrixXd M(n_, n_);
    model_->mass_matrix(sized(q).data(), M.data());  // symmetric: row-major is column-major
    for (Eigen::Index j = 0; j < n_; ++j) {
      M(j, j) += model_->armature()[j];
    }
    return M;
  }

  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & q, const Eigen::VectorXd & v) const override
  {
    return rigid(q, v) - getGravityVector(q);
  }

  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & q) const override
  {
    Eigen::VectorXd tau(n_);
    model_->gravity(model_->parameters().data(), sized(q).data(), tau.data());
    return tau;
  }

  /// Computed at position zero without acceleration, since the interface passes no position.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & v) const override
  {
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(n_);
    std::vector<double> state(model_->state_size());
    model_->reset(state.data(), zero.data());
    Eigen::VectorXd tau(n_);
    model_->torques(
      model_->parameters().data(), zero.data(), sized(v).data(), zero.data(), state.data(),
      tau.data());
    return tau - rigid(zero, v);
  }

  /// One recursion instead of a mass matrix, with the same result.
  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & q, const Eigen::VectorXd & v, const Eigen::VectorXd & a) const override
  {
    Eigen::VectorXd tau(n_);
    model_->rigid_torques(sized(q).data(), sized(v).data(), sized(a).data(), tau.data());
    for (Eigen::Index j = 0; j < n_; ++j) {
      tau[j] += model_->armature()[j] * a[j];
    }
    return tau;
  }

private:
  Eigen::VectorXd rigid(const Eigen::VectorXd & q, const Eigen::VectorXd & v) const
  {
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(n_);
    Eigen::VectorXd tau(n_);
    model_->rigid_torques(sized(q).data(), sized(v).data(), zero.data(), tau.data());
    return tau;
  }

  const Eigen::VectorXd & sized(const Eigen::VectorXd & x) const
  {
    if (model_ == nullptr || x.size() != n_) {
      throw std::runtime_error("ExportedModelSolver: not initialised, or not one value per joint.");
    }
    return x;
  }

  std::unique_ptr<ExportedModel> model_;
  Eigen::Index n_ = 0;
};

}  // namespace robot_sysid_controllers

PLUGINLIB_EXPORT_CLASS(
  robot_sysid_controllers::ExportedModelSolver, inverse_dynamics_solver::InverseDynamicsSolver)
