#include <algorithm>
#include <cmath>
#include <utility>

#include "Eigen/Cholesky"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/clicks/click_intervals.h"
#include "core/clicks/normal_bound.h"

namespace sortition {
namespace {

bool IsInside(double probability) {
  // EM comes near a border where the likelihood is largest on it.
  constexpr double kBorder = 1e-6;
  return probability > kBorder && probability < 1 - kBorder;
}

// P(click) = a p_r + (1 - a) q_r; q = 0 in a position-based model. Unknowns of
// ranks are p_0 .. p_{R-1}, q_0 .. q_{R-1}.
class Information {
 public:
  Information(const ClickFitter& fitter, const FittedClicks& fitted)
      : fitted_(fitted), num_ranks_(fitter.sessions().num_ranks()) {
    const bool is_trust = fitted.model.kind == ClickModelKind::kTrustBias;
    p_.resize(num_ranks_);
    q_.assign(num_ranks_, 0);
    for (size_t r = 0; r < num_ranks_; ++r) {
      if (is_trust) q_[r] = fitted.model.Offset(r);
      p_[r] = is_trust ? fitted.model.Slope(r) + q_[r]
                       : fitted.model.Examination(r);
    }
    Number();
    Sum(fitter.sessions());
    Invert();
  }

  // Returns the standard error of x, 0 for what is known.
  double ErrorOfP(size_t rank) const { return ErrorOf(place_of_p_[rank]); }
  double ErrorOfQ(size_t rank) const { return ErrorOf(place_of_q_[rank]); }
  double ErrorOfSlope(size_t rank) const {
    const int p = place_of_p_[rank];
    const int q = place_of_q_[rank];
    if (p < 0 || q < 0) return ErrorOf(std::max(p, q));
    return std::sqrt(std::max(
        0.0, covariance_(p, p) + covariance_(q, q) - 2 * covariance_(p, q)));
  }
  double p(size_t rank) const { return p_[rank]; }

 private:
  // The first rank is the scale.
  void Number() {
    int next = 0;
    place_of_p_.assign(num_ranks_, -1);
    place_of_q_.assign(num_ranks_, -1);
    for (size_t r = 1; r < num_ranks_; ++r) {
      if (IsInside(p_[r])) place_of_p_[r] = next++;
      if (IsInside(q_[r])) place_of_q_[r] = next++;
    }
    information_ = Eigen::MatrixXd::Zero(next, next);
  }

  // With c clicks of n impressions of a cell, m = P(click):
  //   -d² log-likelihood = (c/m² + (n-c)/(1-m)²) dm dm
  //                        - (c/m - (n-c)/(1-m)) d²m,
  //   dm/dp = a, dm/dq = 1 - a, dm/da = p - q, d²m/dp da = 1, d²m/dq da = -1.
  void Sum(const ClickSessions& sessions) {
    const ClickCells cells(sessions);
    const ClickCells::Weights weights = cells.WeightsOf({&sessions, {}});
    const Eigen::Index size = information_.rows();
    Eigen::VectorXd cross(size);
    for (size_t item = 0; item < cells.num_items(); ++item) {
      const double a = fitted_.attractions[item];
      cross.setZero();
      double own = 0;
      for (size_t c = cells.begin(item); c < cells.begin(item + 1); ++c) {
        const size_t r = cells.rank(c);
        const double clicks = weights.clicked[c];
        const double skips = weights.shown[c] - clicks;
        const double m = a * p_[r] + (1 - a) * q_[r];
        const double curvature = (clicks > 0 ? clicks / (m * m) : 0) +
                                 (skips > 0 ? skips / ((1 - m) * (1 - m)) : 0);
        const double slope =
            (clicks > 0 ? clicks / m : 0) - (skips > 0 ? skips / (1 - m) : 0);
        const double by_item = p_[r] - q_[r];
        own += curvature * by_item * by_item;
        AddRank(r, a, curvature, slope, by_item, &cross);
      }
      // Items at a border stay there.
      if (!IsInside(a) || !(own > 0)) continue;
      information_ -= cross * cross.transpose() / own;
    }
  }

  void AddRank(size_t rank, double a, double curvature, double slope,
               double by_item, Eigen::VectorXd* cross) {
    const std::pair<int, double> sides[] = {{place_of_p_[rank], a},
                                            {place_of_q_[rank], 1 - a}};
    for (const auto& [i, by_i] : sides) {
      if (i < 0) continue;
      const double sign = i == place_of_p_[rank] ? 1 : -1;
      (*cross)[i] += curvature * by_i * by_item - sign * slope;
      for (const auto& [j, by_j] : sides) {
        if (j >= 0) information_(i, j) += curvature * by_i * by_j;
      }
    }
  }

  void Invert() {
    const Eigen::Index size = information_.rows();
    covariance_ =
        information_.ldlt().solve(Eigen::MatrixXd::Identity(size, size));
  }

  double ErrorOf(int place) const {
    return place < 0 ? 0 : std::sqrt(std::max(0.0, covariance_(place, place)));
  }

  const FittedClicks& fitted_;
  const size_t num_ranks_;
  std::vector<double> p_;
  std::vector<double> q_;
  std::vector<int> place_of_p_;  // -1: known.
  std::vector<int> place_of_q_;
  Eigen::MatrixXd information_;
  Eigen::MatrixXd covariance_;
};

ClickInterval LogOddsInterval(const ClickParameter& parameter, double error,
                              double bound) {
  const double p = parameter.value;
  if (error == 0) return {parameter, p, p};
  const double log_odds = std::log(p / (1 - p));
  const double width = bound * error / (p * (1 - p));
  const auto probability = [](double z) { return 1 / (1 + std::exp(-z)); };
  return {parameter, probability(log_odds - width),
          probability(log_odds + width)};
}

}  // namespace

absl::StatusOr<std::vector<ClickInterval>> InformationClickIntervals(
    const ClickFitter& fitter, const FittedClicks& fitted, double confidence) {
  const ClickModelKind kind = fitted.model.kind;
  if (kind != ClickModelKind::kPositionBased &&
      kind != ClickModelKind::kTrustBias) {
    return absl::InvalidArgumentError(
        absl::StrCat("click model is ", ClickModelName(kind),
                     ", must be position_based or trust_bias"));
  }
  if (fitter.has_features()) {
    return absl::InvalidArgumentError(
        "attractions are a function of features, must be free");
  }
  if (!(confidence > 0 && confidence < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("confidence is ", confidence, ", must be in (0, 1)"));
  }
  const Information information(fitter, fitted);
  const double bound = NormalBound(confidence);
  std::vector<ClickInterval> intervals;
  for (const ClickParameter& parameter : ClickParametersOf(fitted, false)) {
    const size_t r = parameter.index;
    if (parameter.kind == ClickParameterKind::kSlope) {
      const double width = bound * information.ErrorOfSlope(r);
      intervals.push_back(
          {parameter, parameter.value - width, parameter.value + width});
    } else {
      const double error = parameter.kind == ClickParameterKind::kOffset
                               ? information.ErrorOfQ(r)
                               : information.ErrorOfP(r);
      intervals.push_back(LogOddsInterval(parameter, error, bound));
    }
  }
  return intervals;
}

}  // namespace sortition
