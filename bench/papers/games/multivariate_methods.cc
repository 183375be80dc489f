#include "bench/papers/games/multivariate_methods.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/support/shuffle.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/classes/multivariate_svm.h"
#include "core/learners/games/query_game.h"
#include "core/optim/one_slack.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using config::v1::OneSlackOptions;

// The gap of the objectives. Hinges and games are worth at most 1.
constexpr double kGapTolerance = 2e-3;
constexpr uint32_t kMaxIterations = 200;
// The gap of F-score games, and of what is learned from them. Games of
// thousands of items are hard at potentials that are still being learned: a
// tenth of this gap would take seconds to minutes per game.
constexpr double kGameTolerance = 2e-3;
constexpr uint32_t kMaxRounds = 8;
constexpr double kGameGapTolerance = 4e-3;
constexpr uint32_t kMaxGameIterations = 100;

std::span<const double> ToSpan(const Eigen::VectorXd& vector) {
  return {vector.data(), static_cast<size_t>(vector.size())};
}

std::vector<uint8_t> Labels(const LabelledRows& items) {
  return {items.labels.begin(), items.labels.end()};
}

std::vector<double> Scores(const Eigen::VectorXd& theta,
                           const LabelledRows& items) {
  const std::vector<uint32_t> indexes = IndexesUpTo<uint32_t>(items.size());
  std::vector<double> scores(items.size());
  items.view().Scores(indexes, ToSpan(theta), scores);
  return scores;
}

MultivariateLoss LossOf(SetMeasure measure, size_t k) {
  if (measure == SetMeasure::kF1) return {};
  return {
      .measure = MultivariateMeasure::kPrecisionAtK, .fewest = k, .most = k};
}

// Precision at k can be trained for a k other than the measured one. With k = P
// (all positives) the labels themselves are a set of k, which hinges need.
std::vector<Variant> SizeVariants(SetMeasure measure) {
  if (measure == SetMeasure::kF1) return {{"", 1}};
  return {{"k = P", 1}, {"k = P/2", 0.5}};
}

size_t KOf(const LabelledRows& items, const Variant& variant) {
  return std::max<size_t>(
      1, static_cast<size_t>(variant.value *
                             static_cast<double>(items.num_positives())));
}

// Returns the measure of the k best items, or of those with positive scores.
double Deterministic(const Eigen::VectorXd& theta, const LabelledRows& items,
                     SetMeasure measure) {
  const MultivariateLoss loss = LossOf(measure, HalfOfPositives(items));
  return MeasureOf(loss, PredictLabels(loss, Scores(theta, items)),
                   Labels(items));
}

// Returns SetQuality::influences, by the derivatives of F1 = 2 Σ v y / Σ (v +
// y) and of Σ v y / Σ v, with v the prediction and y the labels.
std::vector<double> Influences(const Eigen::VectorXd& theta,
                               const LabelledRows& items, SetMeasure measure) {
  const MultivariateLoss loss = LossOf(measure, HalfOfPositives(items));
  const std::vector<uint8_t> predicted =
      PredictLabels(loss, Scores(theta, items));
  const double score = MeasureOf(loss, predicted, Labels(items));
  const bool is_f1 = measure == SetMeasure::kF1;
  const auto n = static_cast<double>(items.size());
  std::vector<double> influences;
  double sum = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const double v = predicted[i], y = items.labels[i];
    influences.push_back(is_f1 ? 2 * v * y - score * (v + y) : v * (y - score));
    sum += is_f1 ? v + y : v;
  }
  for (double& influence : influences) influence *= n / std::max(1., sum);
  return influences;
}

// Shifts θ by its constant feature so that the variant's share of scores is
// positive.
Eigen::VectorXd WithShare(const Eigen::VectorXd& theta,
                          const LabelledRows& items, const Variant& variant,
                          const LabelledRows& trained) {
  if (variant.share == 0) return theta;
  const double rate = static_cast<double>(trained.num_positives()) /
                      static_cast<double>(trained.size());
  std::vector<double> scores = Scores(theta, items);
  const auto cut =
      std::min(scores.size() - 1,
               static_cast<size_t>(variant.share * rate *
                                   static_cast<double>(items.size())));
  std::nth_element(scores.begin(),
                   scores.begin() + static_cast<std::ptrdiff_t>(cut),
                   scores.end(), std::greater<>());
  Eigen::VectorXd shifted = theta;
  shifted[theta.size() - 1] -= scores[cut];
  return shifted;
}

// Returns the scores as trained, and shifted to several shares of positives.
std::vector<Variant> ShareVariants(SetMeasure measure) {
  std::vector<Variant> variants = {{"", 0}};
  if (measure == SetMeasure::kPrecision) return variants;
  for (const double share : {0.9, 1., 1.1, 1.2, 1.3, 1.4, 1.5}) {
    variants.push_back({absl::StrCat("share ", share), 0, share});
  }
  return variants;
}

// One game over all items.
class WholeGame {
 public:
  static absl::StatusOr<std::unique_ptr<WholeGame>> Create(
      const LabelledRows& items, SetMeasure measure, size_t k) {
    GameOptions options;
    options.set_measure(measure == SetMeasure::kF1 ? GameOptions::F_BETA
                                                   : GameOptions::PRECISION);
    options.set_k(static_cast<uint32_t>(k));
    const LabelledItems query = {items.view(), items.labels};
    ASSIGN_OR_RETURN(GameTask task, MakeGameTask({&query, 1}, options));
    return std::unique_ptr<WholeGame>(new WholeGame(query, std::move(task)));
  }
  WholeGame(const WholeGame&) = delete;
  WholeGame& operator=(const WholeGame&) = delete;

  // Evaluates R of J = λ/2 ‖θ‖² + R. Starts cold: for thousands of items the
  // game of prefixes is the better start.
  absl::Status Evaluate(const Eigen::VectorXd& theta, RiskPlane* plane) {
    GameSums sums;
    sums.moments.assign(static_cast<size_t>(theta.size()), 0);
    RETURN_IF_ERROR(game_.Add(query_, ToSpan(theta), Rules(), &sums));
    plane->value = -sums.lower;
    plane->offset = -sums.score;
    plane->slope =
        Eigen::Map<const Eigen::VectorXd>(sums.moments.data(), theta.size());
    return absl::OkStatus();
  }
  absl::StatusOr<double> ExpectedScore(const Eigen::VectorXd& theta) {
    return game_.ExpectedScore(query_, ToSpan(theta), Rules());
  }

 private:
  WholeGame(const LabelledItems& query, GameTask task)
      : query_(query), task_(std::move(task)), game_(task_) {}

  QueryRules Rules() const {
    return {.discounts = task_.DiscountsOf(0),
            .effort = {.tolerance = kGameTolerance, .max_rounds = kMaxRounds}};
  }

  const LabelledItems query_;
  const GameTask task_;
  QueryGame game_;
};

class PredictionGame : public SetMethod {
 public:
  explicit PredictionGame(bool with_share) : with_share_(with_share) {}
  std::string name() const override { return with_share_ ? "MPG+t" : "MPG"; }
  std::vector<Variant> training_variants(SetMeasure measure) const override {
    return SizeVariants(measure);
  }
  std::vector<Variant> prediction_variants(SetMeasure measure) const override {
    if (!with_share_) return {{"", 0}};
    return ShareVariants(measure);
  }

  absl::StatusOr<std::vector<Eigen::VectorXd>> Train(
      const LabelledRows& items, SetMeasure measure, const Variant& variant,
      std::span<const double> cs, double* gap) const override {
    ASSIGN_OR_RETURN(const auto game,
                     WholeGame::Create(items, measure, KOf(items, variant)));
    OneSlackOptions options;
    const bool is_f1 = measure == SetMeasure::kF1;
    options.set_gap_tolerance(is_f1 ? kGameGapTolerance : kGapTolerance);
    options.set_max_iterations(is_f1 ? kMaxGameIterations : kMaxIterations);
    OneSlackSolver solver(
        [&](const Eigen::VectorXd& theta, double, RiskPlane* plane) {
          return game->Evaluate(theta, plane);
        },
        items.num_features, options);
    // The SVM's objective minus 1 is an upper bound of the game's, so its w is
    // a good start.
    ASSIGN_OR_RETURN(std::vector<Eigen::VectorXd> path,
                     MultivariateSvmMethod()->Train(items, measure, {"", 1},
                                                    cs.first(1), nullptr));
    Eigen::VectorXd theta = path[0];
    path.clear();
    for (const double c : cs) {
      ASSIGN_OR_RETURN(OneSlackResult result, solver.Minimise(1 / c, theta));
      *gap = std::max(*gap, result.gap());
      theta = result.weights;
      path.push_back(theta);
    }
    return path;
  }

  absl::StatusOr<SetQuality> Judge(const Eigen::VectorXd& theta,
                                   const LabelledRows& items,
                                   SetMeasure measure, const Variant& variant,
                                   const LabelledRows& trained) const override {
    ASSIGN_OR_RETURN(const auto game,
                     WholeGame::Create(items, measure, HalfOfPositives(items)));
    ASSIGN_OR_RETURN(const Eigen::VectorXd played,
                     Played(theta, items, measure, variant, trained));
    SetQuality quality;
    ASSIGN_OR_RETURN(quality.expected, game->ExpectedScore(played));
    ASSIGN_OR_RETURN(quality.as_trained, game->ExpectedScore(theta));
    quality.mode = Deterministic(played, items, measure);
    quality.influences = Influences(played, items, measure);
    return quality;
  }

 private:
  const bool with_share_;
};

class Svm : public SetMethod {
 public:
  explicit Svm(bool with_share) : with_share_(with_share) {}
  std::string name() const override { return with_share_ ? "SVM+t" : "SVM"; }
  std::vector<Variant> prediction_variants(SetMeasure measure) const override {
    if (!with_share_) return {{"", 0}};
    return ShareVariants(measure);
  }
  std::vector<Variant> training_variants(SetMeasure measure) const override {
    return SizeVariants(measure);
  }

  absl::StatusOr<std::vector<Eigen::VectorXd>> Train(
      const LabelledRows& items, SetMeasure measure, const Variant& variant,
      std::span<const double> cs, double* gap) const override {
    OneSlackOptions options;
    options.set_gap_tolerance(kGapTolerance);
    options.set_max_iterations(kMaxIterations);
    ASSIGN_OR_RETURN(
        const auto svm,
        MultivariateSvm::Create(items.view(), Labels(items),
                                LossOf(measure, KOf(items, variant)), options));
    std::vector<Eigen::VectorXd> path;
    for (const double c : cs) {
      ASSIGN_OR_RETURN(
          const OneSlackResult result,
          svm->Train(1 / c, path.empty() ? Eigen::VectorXd() : path.back()));
      if (gap != nullptr) *gap = std::max(*gap, result.gap());
      path.push_back(result.weights);
    }
    return path;
  }

  absl::StatusOr<SetQuality> Judge(const Eigen::VectorXd& theta,
                                   const LabelledRows& items,
                                   SetMeasure measure, const Variant& variant,
                                   const LabelledRows& trained) const override {
    const Eigen::VectorXd shifted = WithShare(theta, items, variant, trained);
    const double measured = Deterministic(shifted, items, measure);
    return SetQuality{measured, measured, Deterministic(theta, items, measure),
                      Influences(shifted, items, measure)};
  }

 protected:
  const bool with_share_;
};

class Logistic : public Svm {
 public:
  using Svm::Svm;
  std::string name() const override { return with_share_ ? "LR+t" : "LR"; }
  std::vector<Variant> training_variants(SetMeasure) const override {
    return {{"", 0}};
  }

  absl::StatusOr<std::vector<Eigen::VectorXd>> Train(const LabelledRows& items,
                                                     SetMeasure, const Variant&,
                                                     std::span<const double> cs,
                                                     double*) const override {
    const std::vector<uint8_t> labels = Labels(items);
    std::vector<Eigen::VectorXd> path;
    for (const double c : cs) {
      config::v1::LogisticOptions options;
      options.set_l2(1 / c);
      ASSIGN_OR_RETURN(
          const LogisticResult result,
          FitLogistic({items.features, labels, items.num_features}, options));
      path.push_back(Eigen::Map<const Eigen::VectorXd>(result.weights.data(),
                                                       items.num_features));
      path.back()[items.num_features - 1] += result.intercept;
    }
    return path;
  }
};

}  // namespace

std::unique_ptr<SetMethod> PredictionGameMethod(bool with_share) {
  return std::make_unique<PredictionGame>(with_share);
}
std::unique_ptr<SetMethod> MultivariateSvmMethod(bool with_share) {
  return std::make_unique<Svm>(with_share);
}
std::unique_ptr<SetMethod> LogisticMethod(bool with_share) {
  return std::make_unique<Logistic>(with_share);
}

// A potential is about what an item adds to the measure, 1/n. So potentials fit
// games of the size that they were trained on. Larger potentials trust the
// ranking more; which fit is learned from the training items.
absl::StatusOr<Eigen::VectorXd> Played(const Eigen::VectorXd& theta,
                                       const LabelledRows& items,
                                       SetMeasure measure,
                                       const Variant& variant,
                                       const LabelledRows& trained) {
  ASSIGN_OR_RETURN(
      const auto game,
      WholeGame::Create(trained, measure, HalfOfPositives(trained)));
  const Eigen::VectorXd own = WithShare(theta, trained, variant, trained);
  double best_scale = 1, best = -1;
  for (const double scale : {1., 2., 4., 8., 16., 64.}) {
    ASSIGN_OR_RETURN(const double expected, game->ExpectedScore(scale * own));
    if (expected <= best) continue;
    best = expected;
    best_scale = scale;
  }
  return best_scale * static_cast<double>(trained.size()) /
         static_cast<double>(items.size()) *
         WithShare(theta, items, variant, trained);
}

double BestF1(const Eigen::VectorXd& theta, const LabelledRows& items) {
  const std::vector<double> scores = Scores(theta, items);
  std::vector<uint32_t> order = IndexesUpTo<uint32_t>(items.size());
  std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
    return scores[i] > scores[j];
  });
  const LabelCounts counts{items.num_positives(),
                           items.size() - items.num_positives()};
  double best = 0;
  size_t hits = 0;
  for (size_t s = 1; s <= order.size(); ++s) {
    hits += items.labels[order[s - 1]];
    best = std::max(best, 1 - LossOfCounts({}, counts, hits, s - hits));
  }
  return best;
}

size_t HalfOfPositives(const LabelledRows& items) {
  return std::max<size_t>(1, items.num_positives() / 2);
}

}  // namespace sortition
