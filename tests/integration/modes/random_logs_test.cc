// Whatever a log is like, what `ope` and the gate say of it are numbers, within
// the range of the reward, and 95 % of the intervals hold the truth.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "tests/integration/modes/random_log.h"
#include "trainer/ope/ope.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using google::protobuf::FieldDescriptor;
using model::v1::Estimate;
using Outcome = RandomLog::Outcome;

// Estimates that have an interval, by what they are of.
struct Tally {
  int held = 0;
  int all = 0;
};

class RandomLogsTest : public testing::Test {
 protected:
  // Fails for what is not a number, and for intervals whose ends are crossed.
  void ExpectFinite(const google::protobuf::Message& message) {
    std::vector<const FieldDescriptor*> fields;
    const auto* reflection = message.GetReflection();
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int size =
          field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < size; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
          const double value =
              field->is_repeated()
                  ? reflection->GetRepeatedDouble(message, field, i)
                  : reflection->GetDouble(message, field);
          EXPECT_TRUE(std::isfinite(value))
              << field->full_name() << " " << value;
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          ExpectFinite(field->is_repeated()
                           ? reflection->GetRepeatedMessage(message, field, i)
                           : reflection->GetMessage(message, field));
        }
      }
    }
  }

  // `truth` is NaN where it is not known.
  void Take(const std::string& name, const Estimate& estimate, double truth,
            double least, double most) {
    const double slack = 1e-9 * (most - least);
    SCOPED_TRACE(absl::StrCat(name, ": ", estimate.ShortDebugString(),
                              ", truth ", truth));
    EXPECT_LE(estimate.lower(), estimate.upper());
    EXPECT_GE(estimate.lower(), least - slack);
    EXPECT_LE(estimate.upper(), most + slack);
    if (std::isnan(truth)) return;
    Tally& tally = tallies_[name];
    ++tally.all;
    const bool holds =
        estimate.lower() - slack <= truth && truth <= estimate.upper() + slack;
    tally.held += holds;
    if (!holds && is_long_) {
      std::printf("%d: %s: [%g, %g], truth %g; %s\n", seed_, name.c_str(),
                  estimate.lower(), estimate.upper(), truth,
                  description_.c_str());
    }
  }

  void TakeRow(const std::string& name, const OpeEstimate& row, double value,
               double gain, double least, double most) {
    if (row.has_value()) {
      Take(absl::StrCat("value, ", name), row.value(), value, least, most);
    }
    if (row.has_gain()) {
      Take(absl::StrCat("gain, ", name), row.gain(), gain, least - most,
           most - least);
    }
  }

  void JudgeOpe(const RandomLog& log) {
    config::v1::OpeOptions options = log.options();
    std::vector<uint64_t> versions = {1, 3, 0};
    options.add_policies("version:1");
    options.add_policies("version:3");
    options.add_policies("uniform");
    if (log.has_shadow()) {
      options.add_policies("shadow:3");
      versions.push_back(3);
    }
    const bool is_against_log = seed_ % 3 > 0 && log.ValueOfLog().has_value();
    if (!is_against_log) {
      options.add_policies("version:2");
      options.set_against("version:2");
      versions.push_back(2);
    }
    const auto base = [&](Outcome outcome) {
      return is_against_log ? *log.ValueOfLog(outcome)
                            : log.ValueOf(2, outcome);
    };
    const auto result = Ope(options);
    if (!result.ok()) {
      ++refusals_[std::string(result.status().message())];
      return;
    }
    ExpectFinite(*result);
    const double least = options.reward_min();
    const double most = options.reward_max();
    Take("log", result->logged(), log.ValueOfLog().value_or(NAN), least, most);
    for (size_t i = 0; i < versions.size(); ++i) {
      const config::v1::OpePolicy& policy =
          result->policies(static_cast<int>(i));
      SCOPED_TRACE(policy.name());
      const double value = log.ValueOf(versions[i]);
      const double gain = value - base(Outcome::kReward);
      TakeRow("answer", policy.answer(), value, gain, least, most);
      for (const OpeEstimate& row : policy.estimates()) {
        TakeRow(row.estimator(), row, value, gain, least, most);
      }
      for (const OpeEstimate& row : policy.intervals()) {
        TakeRow(row.value_interval(), row, value, gain, least, most);
      }
      for (const OpeEstimate& row : policy.more_rewards()) {
        TakeRow("complaints", row,
                log.ValueOf(versions[i], Outcome::kComplaint),
                log.ValueOf(versions[i], Outcome::kComplaint) -
                    base(Outcome::kComplaint),
                -1, 0);
      }
      for (const OpeEstimate& row : policy.rankings().estimates()) {
        // Each rank could earn as much as the whole order.
        TakeRow(row.chosen() ? "by rank" : row.estimator() + " by rank", row,
                value, gain, least, log.num_ranks() * most);
      }
    }
  }

  // Only where the version that serves wrote the log alone.
  void JudgeGate(const RandomLog& log) {
    config::v1::TrainOptions options;
    options.set_tuples(log.options().tuples());
    options.set_model("m");
    options.set_model_store(log.options().model_store());
    options.set_reward_min(log.options().reward_min());
    options.set_reward_max(log.options().reward_max());
    options.set_overrides(log.options().overrides());
    options.set_force(true);
    *options.mutable_rewards() = log.options().rewards();
    *options.mutable_reward_ranges() = log.options().reward_ranges();
    if (options.rewards_size() > 0) options.add_guardrails("complaints:0.02");
    const auto result = Train(options);
    if (!result.ok()) {
      ++refusals_[std::string(result.status().message())];
      return;
    }
    ExpectFinite(*result);
    if (!result->has_version() || !result->test_looked_at()) return;
    ASSERT_OK_AND_ASSIGN(
        const StoredModel stored,
        ModelStore(options.model_store()).Load("m", result->version()));
    ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                         LinearPolicy::Create(stored.model));
    const double gain = log.ValueOf(policy, Outcome::kReward) - log.ValueOf(2);
    const double range = options.reward_max() - options.reward_min();
    Take("gain, gate", result->evaluation().improvement(), gain, -range, range);
    if (!result->gate_passed()) return;
    Tally& passes = tallies_["gate passes rightly"];
    ++passes.all;
    passes.held += gain > 0;
  }

  const bool is_long_ = std::getenv("SORTITION_LONG") != nullptr;
  int seed_ = 0;
  std::string description_;
  std::map<std::string, Tally> tallies_;
  std::map<std::string, int> refusals_;
};

TEST_F(RandomLogsTest, IntervalsHoldTheTruth) {
  const int logs = is_long_ ? 1000 : 30;
  for (seed_ = 1; seed_ <= logs; ++seed_) {
    RandomLog log(static_cast<uint64_t>(seed_));
    log.Write();
    description_ = log.Description();
    SCOPED_TRACE(absl::StrCat("seed ", seed_, ": ", description_));
    JudgeOpe(log);
    if (log.is_plain()) JudgeGate(log);
    if (HasFatalFailure()) return;
  }
  for (const auto& [message, count] : refusals_) {
    std::printf("refused %d: %s\n", count, message.c_str());
  }
  for (const auto& [name, tally] : tallies_) {
    std::printf("%-32s %5d of %5d hold, %.1f %%\n", name.c_str(), tally.held,
                tally.all, 100.0 * tally.held / tally.all);
    // Three standard errors of the number that hold.
    const double few = 3 * std::sqrt(0.06 * 0.94 * tally.all);
    EXPECT_GE(tally.held, 0.94 * tally.all - few) << name;
  }
}

}  // namespace
}  // namespace sortition
