#pragma once
// Terms that are functions of expected exposures e_d(w) (exposures.h).
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/learners/rankings/exposures.h"

namespace sortition {

// t = -Σ_d g_d e_d: what an order gains if a look at candidate d gains g_d,
// from labels or from clicks divided by the exposure that they had. Gains may
// be negative.
class ExposureTerms : public TupleTerms {
 public:
  // gains[i][d] is that of row d of tuple i. InvalidArgument as
  // ValidateExposureProblem(), and where gains are not finite or are not as
  // many as the candidates.
  static absl::StatusOr<ExposureTerms> Create(
      const ExposureProblem& problem, std::vector<std::vector<double>> gains);

  size_t num_tuples() const override { return exposures_.num_tuples(); }
  Eigen::Index dimension() const override { return exposures_.dimension(); }
  size_t block_size() const override { return exposures_.block_size(); }
  std::span<const double> weights() const override {
    return exposures_.problem().weights;
  }
  // Computes no exposures where all gains are equal: the term is constant.
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  ExposureTerms(Exposures exposures, std::vector<std::vector<double>> gains)
      : exposures_(std::move(exposures)), gains_(std::move(gains)) {}

  Exposures exposures_;
  std::vector<std::vector<double>> gains_;
  std::vector<uint32_t> active_;  // Tuples of the last Values() whose e matter,
  std::vector<uint32_t> places_;  // and their places in it.
  std::vector<double> row_factors_;
};

// t = Σ_d e_d(w)² / e_d(0) = Z d₂(ρ_w ‖ ρ_0): the second moment of exposure
// weights, Z times the exponential of the Rényi divergence of order 2 of the
// normalised exposures ρ = e / Z from those of the policy that logged. It is
// least, Z, where the exposures are the same.
class ExposureDivergenceTerms : public TupleTerms {
 public:
  // logged[i][d] is e_d(0) of row d of tuple i. InvalidArgument as
  // ValidateExposureProblem(), and where they are not finite and positive or
  // are not as many as the candidates.
  static absl::StatusOr<ExposureDivergenceTerms> Create(
      const ExposureProblem& problem, std::vector<std::vector<double>> logged);

  size_t num_tuples() const override { return exposures_.num_tuples(); }
  Eigen::Index dimension() const override { return exposures_.dimension(); }
  size_t block_size() const override { return exposures_.block_size(); }
  std::span<const double> weights() const override {
    return exposures_.problem().weights;
  }
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  ExposureDivergenceTerms(Exposures exposures,
                          std::vector<std::vector<double>> logged)
      : exposures_(std::move(exposures)), logged_(std::move(logged)) {}

  Exposures exposures_;
  std::vector<std::vector<double>> logged_;
  std::vector<uint32_t> block_;
  std::vector<double> row_factors_;
};

}  // namespace sortition
