#include "bench/papers/games/smooth_f1.h"

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "bench/support/shuffle.h"
#include "core/base/status_macros.h"
#include "core/optim/lbfgs.h"

namespace sortition {
namespace {

class NegativeSmoothF1 : public Objective {
 public:
  explicit NegativeSmoothF1(const LabelledRows& items)
      : items_(items), indexes_(IndexesUpTo<uint32_t>(items.size())) {}

  Eigen::Index dimension() const override { return items_.num_features; }

  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    std::vector<double> p(items_.size());
    items_.view().Scores(indexes_,
                         {point.data(), static_cast<size_t>(point.size())}, p);
    double hits = 0, sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      p[i] = 1 / (1 + std::exp(-p[i]));
      hits += p[i] * items_.labels[i];
      sum += p[i] + items_.labels[i];
    }
    const double f1 = 2 * hits / sum;
    if (gradient == nullptr) return -f1;
    gradient->setZero(point.size());
    for (uint32_t i = 0; i < p.size(); ++i) {
      const double slope =
          (2.0 * items_.labels[i] - f1) / sum * p[i] * (1 - p[i]);
      items_.view().AddRow(
          i, -slope, {gradient->data(), static_cast<size_t>(point.size())});
    }
    return -f1;
  }

 private:
  const LabelledRows& items_;
  const std::vector<uint32_t> indexes_;
};

}  // namespace

absl::StatusOr<Eigen::VectorXd> AscendSmoothF1(const LabelledRows& items,
                                               const Eigen::VectorXd& start) {
  config::v1::LbfgsOptions options;
  options.set_max_iterations(1000);
  ASSIGN_OR_RETURN(
      LbfgsResult result,
      MinimizeByLbfgs(NegativeSmoothF1(items), start, options, nullptr));
  return std::move(result.point);
}

}  // namespace sortition
