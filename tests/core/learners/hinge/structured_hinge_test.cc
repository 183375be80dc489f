#include "core/learners/hinge/structured_hinge.h"

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/hinge/brute_hinge.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

struct Query {
  std::vector<uint32_t> relevances;
  std::vector<double> scores;
};

// Scores of many scales; half of them are multiples of 1/2, for ties and hinges
// at 0.
Query RandomQuery(RandomSequence& random, size_t most_items) {
  Query query;
  const size_t n = 1 + random.Below(most_items);
  const uint64_t levels = 1 + random.Below(4);
  const bool ties = random.Below(2) == 0;
  const double scale = std::exp(random.Normal());
  for (size_t i = 0; i < n; ++i) {
    query.relevances.push_back(static_cast<uint32_t>(random.Below(levels)));
    const double score = scale * random.Normal();
    query.scores.push_back(ties ? std::round(2 * score) / 2 : score);
  }
  return query;
}

HingeOptions RandomOptions(RandomSequence& random, HingeOptions options) {
  options.set_relevant_from(1 + static_cast<uint32_t>(random.Below(2)));
  options.set_beta(std::exp(random.Normal()));
  if (options.loss() == HingeOptions::NDCG) {
    options.set_k(static_cast<uint32_t>(random.Below(4)));
  }
  if (options.loss() == HingeOptions::PRECISION) {
    options.set_k(1 + static_cast<uint32_t>(random.Below(4)));
  }
  if (options.loss() == HingeOptions::F_BETA ||
      options.loss() == HingeOptions::SENSITIVITY_SPECIFICITY) {
    const auto k = static_cast<uint32_t>(random.Below(4));
    const uint64_t which = random.Below(4);
    if (which == 1) options.set_fewest(k);
    if (which == 2) options.set_most(k);
  }
  return options;
}

double ValueOf(StructuredHinge* hinge, const std::vector<double>& scores,
               std::vector<double>* slopes) {
  slopes->resize(scores.size());
  double value = hinge->Evaluate(scores, *slopes);
  for (size_t i = 0; i < scores.size(); ++i) {
    value += (*slopes)[i] * scores[i];
  }
  return value;
}

class StructuredHingeTest : public ::testing::TestWithParam<HingeOptions> {};

// Sets may be bounded on either side. The hinge also lies above its tangents.
TEST_P(StructuredHingeTest, EqualsEnumeration) {
  RandomSequence random(SeedKey(GetParam().loss()));
  int told = 0;
  std::vector<double> slopes, unused;
  while (told < 10000) {
    const HingeOptions options = RandomOptions(random, GetParam());
    ASSERT_OK_AND_ASSIGN(const StructuredHinges hinges,
                         StructuredHinges::Create(options));
    Query query = RandomQuery(random, told < 1000 ? 7 : 6);
    const auto hinge = hinges.Of(query.relevances);
    if (hinge == nullptr) continue;
    ++told;
    const double value = ValueOf(hinge.get(), query.scores, &slopes);
    ASSERT_NEAR(value, BruteHinge(options, query.relevances, query.scores),
                1e-11);
    double tangent = value;
    for (size_t i = 0; i < query.scores.size(); ++i) {
      const double step = static_cast<double>(random.Below(7)) / 2 - 1.5;
      query.scores[i] += step;
      tangent += slopes[i] * step;
    }
    ASSERT_GE(ValueOf(hinge.get(), query.scores, &unused), tangent - 1e-11);
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, StructuredHingeTest,
                         ::testing::ValuesIn(AllHinges()), [](const auto& p) {
                           return HingeOptions::Loss_Name(p.param.loss());
                         });

// Lemma 17.4, for the order, candidate or set that the scores predict.
TEST(StructuredHingesTest, BoundTheLossOfWhatIsPredicted) {
  RandomSequence random(SeedKey(7));
  std::vector<double> slopes;
  for (int trial = 0; trial < 6000; ++trial) {
    const HingeOptions options =
        RandomOptions(random, AllHinges()[trial % AllHinges().size()]);
    const Query query = RandomQuery(random, 7);
    const auto hinge = StructuredHinges::Create(options)->Of(query.relevances);
    if (hinge == nullptr) continue;
    const auto& [y, s] = query;
    std::vector<size_t> order(y.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&, &s = s](size_t a, size_t b) { return s[a] > s[b]; });
    std::vector<size_t> ideal = order;
    std::stable_sort(ideal.begin(), ideal.end(),
                     [&, &y = y](size_t a, size_t b) { return y[a] > y[b]; });
    double loss = 0;
    uint32_t set = 0;
    switch (options.loss()) {
      case HingeOptions::NDCG:
        loss = 1 - DcgOf(y, order, options.k()) / DcgOf(y, ideal, options.k());
        break;
      case HingeOptions::KENDALL: {
        double wrong = 0, pairs = 0;
        for (size_t r = 0; r < y.size(); ++r) {
          for (size_t below = r + 1; below < y.size(); ++below) {
            pairs += y[order[r]] != y[order[below]];
            wrong += y[order[r]] < y[order[below]];
          }
        }
        loss = wrong / pairs;
        break;
      }
      case HingeOptions::SELECTION:
        loss = 1 - static_cast<double>(y[order[0]]) / y[ideal[0]];
        break;
      default:
        for (size_t r = 0; r < y.size(); ++r) {
          const bool room = options.most() == 0 || r < options.most();
          const bool chosen =
              options.loss() == HingeOptions::PRECISION
                  ? r < options.k()
                  : r < options.fewest() || (room && s[order[r]] > 0);
          if (chosen) set |= 1u << order[r];
        }
        loss = LossOfSet(options, y, set);
    }
    ASSERT_GE(ValueOf(hinge.get(), s, &slopes), loss - 1e-12)
        << options.ShortDebugString();
  }
}

TEST(StructuredHingesTest, LabelsThatSayNothingHaveNone) {
  for (const HingeOptions& options : AllHinges()) {
    ASSERT_OK_AND_ASSIGN(const StructuredHinges hinges,
                         StructuredHinges::Create(options));
    const bool any_size =
        options.loss() == HingeOptions::F_BETA ||
        options.loss() == HingeOptions::SENSITIVITY_SPECIFICITY;
    const auto says = [&](const std::vector<uint32_t>& relevances) {
      return hinges.Of(relevances) != nullptr;
    };
    EXPECT_EQ(says({0, 0, 0}), any_size);
    EXPECT_EQ(says({2, 2, 2}), any_size);
    EXPECT_EQ(says({1}), any_size);
    EXPECT_TRUE(says({0, 2, 1}));
    // All items are relevant, or as many as are chosen.
    const bool precision = options.loss() == HingeOptions::PRECISION;
    EXPECT_EQ(says({1, 2, 1}), !precision);
    EXPECT_EQ(says({0, 2}), !precision);
  }
}

TEST(StructuredHingesTest, NamesWhatIsOutsideItsRange) {
  ExpectRefusals(HingeOptions(),
                 [](const HingeOptions& options) {
                   return StructuredHinges::Create(options).status();
                 },
                 {{"loss: PRECISION", "k is 0, must be at least 1"},
                  {"loss: KENDALL k: 3", "k is 3, must be 0 for KENDALL"},
                  {"loss: KENDALL most: 2",
                   "fewest and most are 0 and 2, must be 0 for KENDALL"},
                  {"loss: F_BETA most: 2 fewest: 3",
                   "fewest is 3, must be within [0, most = 2]"},
                  {"loss: F_BETA beta: 0", "beta is 0, must be within"}});
}

}  // namespace
}  // namespace sortition
