#include "core/learners/classes/chain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/learners/classes/chain_learner.h"
#include "core/learners/classes/multiclass.h"
#include "core/learners/labelled/label_accuracy.h"
#include "sortition/config/v1/classes.pb.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::ChainOptions;
using Eigen::Index;
using Eigen::VectorXd;

using RowMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

ChainOptions ExactChainOptions(ChainOptions::Objective objective) {
  ChainOptions options;
  options.set_objective(objective);
  options.mutable_lbfgs()->set_decrease_tolerance(0);
  options.mutable_lbfgs()->set_gradient_tolerance(1e-8);
  options.mutable_one_slack()->set_gap_tolerance(1e-6);
  return options;
}

absl::StatusOr<ChainFit> Train(const TestQueries& sequences, uint32_t q,
                               const ChainOptions& options, double lambda) {
  auto trainer = ChainTrainer::Create(sequences.views(), q, options);
  if (!trainer.ok()) return trainer.status();
  return (*trainer)->Train(lambda, nullptr);
}

// U and T, in the order of the parameters.
struct Chain {
  RowMatrix weights;      // d × q
  RowMatrix transitions;  // q × q

  Chain(const VectorXd& parameters, Index d, Index q)
      : weights(Eigen::Map<const RowMatrix>(parameters.data(), d, q)),
        transitions(
            Eigen::Map<const RowMatrix>(parameters.data() + d * q, q, q)) {}

  Eigen::MatrixXd Unary(const LabelledItems& sequence) const {
    Eigen::MatrixXd unary =
        Eigen::MatrixXd::Zero(sequence.items.num_candidates(), weights.cols());
    for (Index j = 0; j < unary.rows(); ++j) {
      for (Index f = 0; f < weights.rows(); ++f) {
        unary.row(j) +=
            static_cast<double>(
                sequence.items
                    .values()[static_cast<size_t>(j * weights.rows() + f)]) *
            weights.row(f);
      }
    }
    return unary;
  }
  std::vector<uint32_t> Best(const LabelledItems& sequence) const {
    LabelChain chain;
    std::vector<uint32_t> labels;
    chain.Maximise(Unary(sequence), transitions, {}, 0, &labels);
    return labels;
  }
};

// Labels drawn from exp(S), one after another, backwards by the forward sums.
// Features are normal; the chain's own randomness is the noise.
TestQueries Planted(const Chain& truth, int num_sequences, size_t length,
                    uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  TestQueries sequences;
  LabelChain chain;
  const auto q = static_cast<uint32_t>(truth.weights.cols());
  for (int s = 0; s < num_sequences; ++s) {
    std::vector<float> features(length * truth.weights.rows());
    for (float& x : features) x = static_cast<float>(random.Normal());
    std::vector<uint32_t> labels(length, 0);
    const LabelledItems items = {
        Candidates::DenseUnchecked(features,
                                   static_cast<uint32_t>(truth.weights.rows())),
        labels};
    Eigen::MatrixXd unary = truth.Unary(items);
    for (size_t j = 0; j < length; ++j) {
      // P(y_j | y_0 .. y_j-1): large scores fix all labels before j.
      chain.Sum(unary, truth.transitions);
      double place = random.Uniform();
      uint32_t label = 0;
      while (label + 1 < q &&
             (place -= chain.marginals()(static_cast<Index>(j), label)) > 0) {
        ++label;
      }
      labels[j] = label;
      unary(static_cast<Index>(j), label) += 1000;
    }
    sequences.Add(features, labels);
  }
  return sequences;
}

double Accuracy(const TestQueries& sequences, const Chain& chain) {
  double right = 0;
  double all = 0;
  for (const LabelledItems& sequence : sequences.views()) {
    const std::vector<uint32_t> labels = chain.Best(sequence);
    for (size_t j = 0; j < labels.size(); ++j) {
      right += labels[j] == sequence.relevances[j] ? 1 : 0;
      ++all;
    }
  }
  return right / all;
}

// Two labels, one sequence (0, 1), features 0, T(0, 1) = log 2: of the four
// labellings 0 1 weighs 2, the others 1. -log p = log 5/2; with λ = 3 the
// penalty is 3/2 log² 2. Expected transitions: 2/5 of 0 1, 1/5 of others.
TEST(ChainTest, LikelihoodByHand) {
  TestQueries sequences;
  sequences.Add({0, 0}, {0, 1});
  ASSERT_OK_AND_ASSIGN(const ChainData data,
                       ChainData::Create(sequences.views(), 2));
  VectorXd parameters = VectorXd::Zero(6);
  parameters(3) = std::log(2);
  VectorXd gradient;
  const double value =
      ChainLikelihood(&data, 3).Evaluate(parameters, &gradient);
  EXPECT_NEAR(value, std::log(2.5) + 1.5 * std::log(2) * std::log(2), 1e-14);
  VectorXd expected(6);
  expected << 0, 0, 0.2, 0.4 - 1 + 3 * std::log(2), 0.2, 0.2;
  EXPECT_LT((gradient - expected).norm(), 1e-14);
}

TEST(ChainTest, GradientIsThatOfTheLikelihood) {
  const TestQueries sequences = RandomQueries(
      {.num_queries = 20, .num_features = 3, .max_relevance = 3}, 1);
  ASSERT_OK_AND_ASSIGN(const ChainData data,
                       ChainData::Create(sequences.views(), 4));
  ASSERT_EQ(data.dimension(), (3 + 4) * 4);
  const ChainLikelihood objective(&data, 0.1);
  RandomSequence random(SeedKey(2));
  for (int repeat = 0; repeat < 5; ++repeat) {
    VectorXd point(data.dimension());
    for (double& w : point) w = random.Normal();
    VectorXd gradient;
    objective.Evaluate(point, &gradient);
    EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(), 1e-8);
  }
}

// The bound holds at every point, and L-BFGS ends close to it.
TEST(ChainTest, LikelihoodEndsAtItsMinimum) {
  const TestQueries sequences = RandomQueries(
      {.num_queries = 30, .num_features = 3, .max_relevance = 2}, 3);
  ASSERT_OK_AND_ASSIGN(
      const ChainFit fit,
      Train(sequences, 3, ExactChainOptions(ChainOptions::LIKELIHOOD), 0.01));
  EXPECT_GE(fit.objective, fit.dual_bound);
  EXPECT_LT(fit.objective - fit.dual_bound, 1e-10);
  ASSERT_OK_AND_ASSIGN(const ChainData data,
                       ChainData::Create(sequences.views(), 3));
  const ChainLikelihood objective(&data, 0.01);
  EXPECT_EQ(objective.Evaluate(fit.parameters, nullptr), fit.objective);
  RandomSequence random(SeedKey(4));
  for (int repeat = 0; repeat < 100; ++repeat) {
    VectorXd other = fit.parameters;
    for (double& w : other) w += 0.1 * random.Normal();
    EXPECT_GT(objective.Evaluate(other, nullptr), fit.dual_bound);
  }
  // The bound holds far from the minimum, too.
  ChainOptions early = ExactChainOptions(ChainOptions::LIKELIHOOD);
  early.mutable_lbfgs()->set_max_iterations(2);
  ASSERT_OK_AND_ASSIGN(const ChainFit stopped,
                       Train(sequences, 3, early, 0.01));
  EXPECT_LT(stopped.dual_bound, fit.objective);
  EXPECT_GT(stopped.objective, fit.objective);
}

// λ/2 ‖w‖² + mean of max_y [Δ + (S(y) - S(y_i)) / r], y by enumeration.
double HingeByEnumeration(const TestQueries& sequences, uint32_t q,
                          double lambda, const VectorXd& parameters) {
  const auto d = static_cast<Index>(sequences.views()[0].items.num_features());
  const Chain chain(parameters, d, q);
  double sum = 0;
  for (const LabelledItems& sequence : sequences.views()) {
    const Eigen::MatrixXd unary = chain.Unary(sequence);
    const size_t r = sequence.relevances.size();
    const double own =
        ChainScore(unary, chain.transitions, sequence.relevances);
    double most = -HUGE_VAL;
    std::vector<uint32_t> labels(r, 0);
    for (bool more = true; more;) {
      double wrong = 0;
      for (size_t j = 0; j < r; ++j) {
        wrong += labels[j] != sequence.relevances[j] ? 1 : 0;
      }
      const double score = ChainScore(unary, chain.transitions, labels);
      most = std::max(most, (wrong + score - own) / static_cast<double>(r));
      size_t j = 0;
      while (j < r && ++labels[j] == q) labels[j++] = 0;
      more = j < r;
    }
    sum += most;
  }
  return lambda / 2 * parameters.squaredNorm() +
         sum / static_cast<double>(sequences.views().size());
}

TEST(ChainTest, HingeEndsAtItsMinimum) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const TestQueries sequences = RandomQueries(
        {.num_queries = 10, .most_items = 4, .max_relevance = 2}, seed);
    ASSERT_OK_AND_ASSIGN(
        const ChainFit fit,
        Train(sequences, 3, ExactChainOptions(ChainOptions::HINGE), 0.05));
    EXPECT_LE(fit.objective - fit.dual_bound, 1e-6);
    EXPECT_EQ(fit.termination, "gap closed");
    EXPECT_NEAR(HingeByEnumeration(sequences, 3, 0.05, fit.parameters),
                fit.objective, 1e-12);
    RandomSequence random(SeedKey(seed));
    for (int repeat = 0; repeat < 50; ++repeat) {
      VectorXd other = fit.parameters;
      for (double& w : other) w += 0.1 * random.Normal();
      EXPECT_GE(HingeByEnumeration(sequences, 3, 0.05, other),
                fit.dual_bound - 1e-12);
    }
  }
}

// Sequences of one item have no transitions: the multiclass hinge.
TEST(ChainTest, HingeOfSingleItemsIsThatOfClasses) {
  const TestQueries sequences = RandomQueries(
      {.num_queries = 40, .most_items = 1, .max_relevance = 2}, 7);
  std::vector<float> features;
  std::vector<uint32_t> classes;
  for (const LabelledItems& sequence : sequences.views()) {
    const auto row = sequence.items.values();
    features.insert(features.end(), row.begin(), row.end());
    classes.push_back(sequence.relevances[0]);
  }
  ASSERT_OK_AND_ASSIGN(
      const ChainFit fit,
      Train(sequences, 3, ExactChainOptions(ChainOptions::HINGE), 0.1));
  MulticlassHinge options;
  options.one_slack.set_gap_tolerance(1e-6);
  ASSERT_OK_AND_ASSIGN(
      const auto trainer,
      MulticlassHingeTrainer::Create({features, classes, 3, 3}, options));
  ASSERT_OK_AND_ASSIGN(const MulticlassResult result, trainer->Train(0.1));
  EXPECT_NEAR(fit.objective, result.descent.objective, 2e-6);
  EXPECT_EQ(fit.parameters.tail(9).norm(), 0);
}

// Three labels, two features and transitions of their own.
Chain Truth() {
  VectorXd parameters(2 * 3 + 9);
  parameters << 1, -1, 0, 0.5, 0.5, -1, 0, 1.5, -1, -1, 0, 1.5, 1, -1, 0;
  return Chain(parameters, 2, 3);
}

// The likelihood determines U up to a constant for each feature, and T up to a
// single one. Errors fall with the square root of the number of sequences. The
// largest were 0.15 for 2000 and 0.07 for 8000, for T(a, b) + f(a) - f(b),
// which only the ends of sequences distinguish from T.
TEST(ChainTest, LikelihoodRecoversAPlantedChain) {
  const Chain truth = Truth();
  const TestQueries sequences = Planted(truth, 8000, 5, 1);
  ASSERT_OK_AND_ASSIGN(
      const ChainFit fit,
      Train(sequences, 3, ExactChainOptions(ChainOptions::LIKELIHOOD), 1e-5));
  const Chain found(fit.parameters, 2, 3);
  const auto centred = [](const RowMatrix& weights) -> RowMatrix {
    return weights.colwise() - weights.rowwise().mean();
  };
  EXPECT_LT(
      (centred(found.weights) - centred(truth.weights)).cwiseAbs().maxCoeff(),
      0.1);
  const RowMatrix difference = found.transitions - truth.transitions;
  EXPECT_LT((difference.array() - difference.mean()).abs().maxCoeff(), 0.1);
}

// Both objectives label new sequences nearly as well as the true model does,
// and far better than is possible from single items.
TEST(ChainTest, TransitionsMatter) {
  VectorXd parameters(2 * 3 + 9);
  // Features are weak; each label is mostly followed by the next.
  parameters << 1, 0, -1, 1, -2, 1, -1, 3, -1, -1, -1, 3, 3, -1, -1;
  const Chain truth(parameters, 2, 3);
  const TestQueries training = Planted(truth, 300, 12, 2);
  const TestQueries test = Planted(truth, 300, 12, 3);
  // Each item is a sequence of its own.
  TestQueries items;
  for (const LabelledItems& sequence : training.views()) {
    for (size_t j = 0; j < sequence.relevances.size(); ++j) {
      const auto row = sequence.items.values().subspan(2 * j, 2);
      items.Add({row.begin(), row.end()}, {sequence.relevances[j]});
    }
  }
  const double best = Accuracy(test, truth);
  for (const auto objective : {ChainOptions::LIKELIHOOD, ChainOptions::HINGE}) {
    ChainOptions options = ExactChainOptions(objective);
    options.mutable_one_slack()->set_gap_tolerance(1e-3);
    ASSERT_OK_AND_ASSIGN(const ChainFit fit, Train(training, 3, options, 1e-3));
    ASSERT_OK_AND_ASSIGN(const ChainFit alone, Train(items, 3, options, 1e-3));
    const double with = Accuracy(test, Chain(fit.parameters, 2, 3));
    const double without = Accuracy(test, Chain(alone.parameters, 2, 3));
    EXPECT_GT(with, best - 0.02) << objective;
    EXPECT_GT(with, without + 0.15) << objective;
  }
}

// A path of λ ends at the same points as separate trainings.
TEST(ChainTest, AStartChangesNoMinimum) {
  const TestQueries sequences = RandomQueries({.max_relevance = 2}, 5);
  for (const auto objective : {ChainOptions::LIKELIHOOD, ChainOptions::HINGE}) {
    ASSERT_OK_AND_ASSIGN(const auto trainer,
                         ChainTrainer::Create(sequences.views(), 3,
                                              ExactChainOptions(objective)));
    for (const double lambda : {1.0, 0.1, 0.01}) {
      uint32_t steps = 0;
      ASSERT_OK_AND_ASSIGN(const ChainFit warm,
                           trainer->Train(lambda, [&steps] { ++steps; }));
      EXPECT_GT(steps, 0);
      ASSERT_OK_AND_ASSIGN(
          const ChainFit cold,
          Train(sequences, 3, ExactChainOptions(objective), lambda));
      EXPECT_NEAR(warm.objective, cold.objective, 2e-6);
    }
  }
}

TEST(ChainTest, NamesWhatIsWrong) {
  TestQueries sequences;
  sequences.Add({1, 2}, {0, 3});
  const auto error = [](const TestQueries& queries, uint32_t q) {
    return ChainData::Create(queries.views(), q).status();
  };
  EXPECT_THAT(error(sequences, 1),
              IsInvalidArgument("num_labels is 1, must be within "
                                "[2, 1000]"));
  EXPECT_THAT(error(sequences, 3), IsInvalidArgument("is 3"));
  EXPECT_THAT(error({}, 3), IsInvalidArgument("0 queries"));
  EXPECT_THAT(Train(sequences, 4, {}, 0),
              IsInvalidArgument("lambda is 0, must be above 0"));
}

ChainOptions ChainOptionsOf(ChainOptions::Objective objective) {
  ChainOptions options;
  options.set_objective(objective);
  return options;
}

std::unique_ptr<LabelledLearner> Make(const ChainOptions& options,
                                      uint32_t num_labels) {
  return MakeChainLearner(options,
                          {.num_features = 3, .max_relevance = num_labels - 1})
      .value();
}

// Labels 0, 1, 2, 0, .. from a start that only the first item reveals: without
// transitions only every twelfth is known.
TestQueries Cycles(int num_sequences) {
  TestQueries sequences;
  for (int s = 0; s < num_sequences; ++s) {
    std::vector<float> features(12 * 3, 0);
    std::vector<uint32_t> labels;
    for (uint32_t j = 0; j < 12; ++j) {
      labels.push_back((static_cast<uint32_t>(s) + j) % 3);
    }
    features[labels[0]] = 1;
    sequences.Add(features, labels);
  }
  return sequences;
}

TEST(ChainLearnerTest, LearnsWhatFollowsWhat) {
  const TestQueries sequences = Cycles(9);
  for (const auto objective : {ChainOptions::LIKELIHOOD, ChainOptions::HINGE}) {
    const auto learner = Make(ChainOptionsOf(objective), 3);
    size_t steps = 0;
    ASSERT_OK_AND_ASSIGN(
        const LabelledResult result,
        learner->Train({.training = sequences.views(),
                        .validation = sequences.views(),
                        .on_step = [&steps](size_t) { ++steps; }}));
    ASSERT_EQ(result.points.size(), 13);
    EXPECT_GE(steps, 13);
    EXPECT_LE(steps, 13 * learner->most_steps());
    for (const LabelledPoint& point : result.points) {
      EXPECT_GE(point.objective, *point.dual_bound);
      EXPECT_LE(point.objective - *point.dual_bound, learner->gap_tolerance());
    }
    EXPECT_EQ(result.points[result.chosen].validation, 1) << objective;
    // T(l, l + 1) is the largest of its row.
    ASSERT_EQ(result.weights.size(), 9);
    ASSERT_EQ(result.transitions.size(), 9);
    for (size_t l = 0; l < 3; ++l) {
      const auto row =
          result.transitions.begin() + static_cast<ptrdiff_t>(3 * l);
      EXPECT_EQ(std::max_element(row, row + 3) - row,
                static_cast<ptrdiff_t>((l + 1) % 3));
    }
    // The published model has the same weights.
    ASSERT_OK_AND_ASSIGN(
        const model::v1::Policy policy,
        learner->MakePolicy({.action_kind = learner->default_action(),
                             .inverse_temperature = 10000,
                             .transitions = result.transitions}));
    ASSERT_OK_AND_ASSIGN(
        const LabelFigures figures,
        LabelFiguresOf(policy, result.weights, sequences.views()[1]));
    EXPECT_EQ(figures.by_score, 1);
    EXPECT_GT(figures.expected, 0.99);
    EXPECT_NEAR(figures.by_chance, 1.0 / 3, 1e-12);
  }
}

TEST(ChainLearnerTest, PublishesAChainWithoutMixture) {
  const auto learner = Make({}, 2);
  EXPECT_EQ(learner->measure().Name(), "accuracy");
  ASSERT_OK_AND_ASSIGN(
      const model::v1::Policy policy,
      learner->MakePolicy({.action_kind = learner->default_action(),
                           .inverse_temperature = 2,
                           .uniform_mixture = 0.02,
                           .transitions = {1, 2, 3, 4}}));
  EXPECT_EQ(policy.inverse_temperature(), 2);
  EXPECT_EQ(policy.uniform_mixture(), 0);
  EXPECT_EQ(policy.label_chain().num_labels(), 2);
  EXPECT_EQ(policy.label_chain().transitions(2), 3);
  EXPECT_THAT(learner->MakePolicy({.action_kind = ActionKind::kRank}),
              IsInvalidArgument("action is rank, must be label"));
  EXPECT_THAT(
      learner->MakePolicy(
          {.action_kind = ActionKind::kSubset, .transitions = {1, 2, 3}}),
      IsInvalidArgument("transitions has 3 values, must have 4 or none"));
}

TEST(ChainLearnerTest, NamesWhatIsWrong) {
  ChainOptions options;
  options.add_lambda(0);
  EXPECT_THAT(MakeChainLearner(options, {.num_features = 3, .max_relevance = 2})
                  .status(),
              IsInvalidArgument("chain.lambda is 0"));
  TestQueries alike;
  alike.Add({1, 2, 3, 4, 5, 6}, {1, 1});
  EXPECT_THAT(Make({}, 2)->Train(
                  {.training = alike.views(), .validation = alike.views()}),
              IsFailedPrecondition("1 training sequences has label 1"));
  LabelledPolicyTask task{.action_kind = ActionKind::kSubset};
  task.rank.set_head(3);
  EXPECT_THAT(Make({}, 2)->MakePolicy(task),
              IsInvalidArgument("rank_policy is set"));
}

}  // namespace
}  // namespace sortition
