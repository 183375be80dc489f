// Versions of one name read different columns, and callers send other columns
// every day. Refusals, propensities, the replay of the log and the intervals of
// `ope` agree with a definition that shares no code with the server.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/choices/traffic_split.h"
#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/made_up_columns.h"
#include "gmock/gmock.h"
#include "tests/integration/modes/modes_server.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/ope/ope.h"

namespace sortition {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr int kSequences = 200;
// `ope` judges so many of them, unless SORTITION_LONG is set.
constexpr int kJudged = 40;
constexpr int kDays = 6;
constexpr int kRequestsPerDay = 70;
constexpr uint32_t kCandidates = 3;
constexpr double kMixture = 0.2;
constexpr double kMissing = -1;  // The value that stands for a missing one.

// Columns of candidates, a number each, but for the last one, which is a number
// of the query: equal for all candidates, it changes no selection.
const std::vector<std::string>& Names() {
  static const auto& names =
      *new std::vector<std::string>{"a", "b", "c", "d", "e", "query"};
  return names;
}

// A version, as the test understands it.
struct Version {
  std::map<std::string, double> weights;  // By column that it reads.
  std::map<std::string, std::optional<double>> if_absent;  // Unset: missing.

  bool Requires(const std::string& name) const {
    return weights.contains(name) && !if_absent.contains(name);
  }
  bool Suits(const std::set<std::string>& sent) const {
    return std::all_of(Names().begin(), Names().end(), [&](const auto& name) {
      return !Requires(name) || sent.contains(name);
    });
  }
};

// The value of each column that a request has for one candidate.
using Row = std::map<std::string, double>;

struct Request {
  std::vector<Row> rows;        // By candidate.
  std::vector<double> rewards;  // Expectations, by candidate.
};

// The definition: a softmax of sums, mixed with the uniform policy.
std::vector<double> Probabilities(const Version& version,
                                  const Request& request) {
  std::vector<double> weights;
  double total = 0;
  for (const Row& row : request.rows) {
    double score = 0;
    for (const auto& [name, weight] : version.weights) {
      const auto sent = row.find(name);
      const auto declared = version.if_absent.find(name);
      double value = kMissing;
      if (sent != row.end()) {
        value = sent->second;
      } else if (declared != version.if_absent.end()) {
        value = declared->second.value_or(kMissing);
      }
      score += weight * value;
    }
    total += weights.emplace_back(std::exp(score));
  }
  for (double& weight : weights) {
    weight = kMixture / kCandidates + (1 - kMixture) * weight / total;
  }
  return weights;
}

model::v1::Model ModelOf(const Version& version) {
  model::v1::FeatureSpec spec;
  for (const auto& [name, weight] : version.weights) {
    auto& column = *spec.mutable_schema()->add_column();
    column.set_name(name);
    column.set_type(model::v1::ColumnSchema::NUMBER);
    if (name == "query") column.set_scope(model::v1::ColumnSchema::QUERY);
    if (const auto found = version.if_absent.find(name);
        found != version.if_absent.end()) {
      if (found->second.has_value()) {
        column.set_number(*found->second);
      } else {
        column.set_missing(true);
      }
    }
    auto& number = *spec.add_transform()->mutable_number();
    number.set_column(name);
    number.set_missing_value(kMissing);
  }
  const Schema schema = *Schema::Create(spec.schema());
  RandomSequence random(SeedKey(1));
  const v1::Columns made_up = MakeUpColumns(schema, 2, &random);
  model::v1::Model model;
  model.set_name("default");
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(kMixture);
  model.mutable_policy()->mutable_softmax_selection();
  *model.mutable_features() =
      *LearnFeatures(spec, [&](QueryVisitor visit) { return visit(made_up); });
  model.set_num_features(static_cast<uint32_t>(version.weights.size()));
  for (const auto& [name, weight] : version.weights) model.add_weights(weight);
  return model;
}

// One history of a model's name.
class History {
 public:
  explicit History(int number)
      : name_(absl::StrCat("h", number)),
        random_(StableHash(HashDomain::kSimulation, {"history", name_})) {
    for (const std::string& column : Names()) {
      worth_[column] = random_.Normal() / 4;
    }
    sent_ = {"a", "b"};
    server_.Start({});
    server_.OpenSpool();
  }

  // Publishes, serves and sends at random, and expects what the test knows.
  void Run() {
    for (int day = 0; day < kDays; ++day) {
      if (day > 0) {
        PublishVersion();
        PublishOtherType();
        ChooseServing();
      }
      ChooseSent();
      for (int i = 0; i < kRequestsPerDay; ++i) {
        Send(absl::StrCat(name_, "-", day, "-", i));
      }
    }
    server_.CloseSpool();
  }

  void ExpectVerified() {
    const VerifyResult verified = server_.Verify();
    EXPECT_EQ(verified.verified, requests_.size()) << verified.first_difference;
    EXPECT_EQ(verified.different, 0u) << verified.first_difference;
    uint64_t views = 0;
    for (const log::v1::LogRecord& record : ReadSpool(server_.spool_dir())) {
      if (record.has_shadow_view()) {
        ++views;
        ExpectView(record.shadow_view());
      } else if (record.has_decision()) {
        ExpectPropensity(record.decision());
      }
    }
    EXPECT_EQ(views, num_views_);
  }

  // Adds how many intervals of values hold the truth, of how many.
  void Judge(int* held, int* all) {
    std::vector<log::v1::BanditTuple> tuples;
    for (log::v1::LogRecord& record : ReadSpool(server_.spool_dir())) {
      if (!record.has_decision()) continue;
      const log::v1::Decision& decision = record.decision();
      const Request& request = requests_.at(decision.decision_id());
      RandomSequence random(StableHash(HashDomain::kSimulation,
                                       {"reward", decision.decision_id()}));
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      tuple.set_reward(
          random.Uniform() <
                  request.rewards[static_cast<size_t>(decision.action(0))]
              ? 1
              : 0);
      tuple.set_has_feedback(true);
      *tuple.mutable_decision() = std::move(*record.mutable_decision());
    }
    const std::string dir = server_.Sub("tuples");
    WriteSegment(dir, 0, tuples);
    config::v1::OpeOptions options;
    options.set_tuples(dir);
    options.set_model("default");
    options.set_model_store(server_.store());
    for (size_t v = 1; v <= versions_.size(); ++v) {
      options.add_policies(absl::StrCat("version:", v));
    }
    ASSERT_OK_AND_ASSIGN(const config::v1::OpeReport report, Ope(options));
    EXPECT_EQ(report.decisions(), tuples.size());
    for (size_t v = 0; v < versions_.size(); ++v) {
      double truth = 0;
      bool lacks = false;
      for (const auto& [id, request] : requests_) {
        const std::vector<double> p = Probabilities(versions_[v], request);
        for (size_t i = 0; i < kCandidates; ++i) {
          truth +=
              p[i] * request.rewards[i] / static_cast<double>(requests_.size());
        }
        lacks = lacks || std::any_of(Names().begin(), Names().end(),
                                     [&](const std::string& name) {
                                       return versions_[v].Requires(name) &&
                                              !request.rows[0].contains(name);
                                     });
      }
      const auto& policy = report.policies(static_cast<int>(v));
      const auto& value = policy.answer().value();
      ++*all;
      *held += value.lower() <= truth && truth <= value.upper();
      const bool is_found =
          std::any_of(policy.findings().begin(), policy.findings().end(),
                      [](const auto& finding) {
                        return finding.kind() == "absent_columns";
                      });
      EXPECT_EQ(is_found, lacks) << "version " << v + 1;
    }
  }

  int num_refused() const { return num_refused_; }

 private:
  double Quarter() { return std::round(4 * random_.Normal()) / 4; }
  bool Flip(double probability) { return random_.Uniform() < probability; }

  void PublishVersion() {
    Version version;
    while (version.weights.empty() ||
           (version.weights.size() == 1 && version.weights.contains("query"))) {
      for (const std::string& name : Names()) {
        if (!Flip(0.5)) continue;
        version.weights[name] = Quarter();
        version.if_absent.erase(name);
        if (Flip(0.3)) version.if_absent[name] = Quarter();
        if (Flip(0.3)) version.if_absent[name] = std::nullopt;
      }
    }
    versions_.push_back(version);
    ASSERT_EQ(Publish(server_.store(), ModelOf(version)), versions_.size());
  }

  // A column with another type is the one thing that no version may have.
  void PublishOtherType() {
    const std::string name = versions_.back().weights.begin()->first;
    model::v1::Model model = ModelOf(versions_.back());
    model::v1::FeatureSpec& spec = *model.mutable_features()->mutable_spec();
    auto& column = *spec.mutable_schema()->mutable_column(0);
    column.clear_if_absent();
    column.set_type(model::v1::ColumnSchema::CATEGORY);
    spec.mutable_transform(0)->mutable_hash()->set_column(name);
    spec.mutable_transform(0)->mutable_hash()->set_bits(1);
    model.mutable_features()->set_schema_hash(
        Schema::Create(spec.schema())->hash());
    model.mutable_features()->mutable_learned()->clear_column();
    model.mutable_features()->mutable_learned()->clear_feature();
    *model.mutable_features()->mutable_learned()->mutable_transform(0) = {};
    model.set_num_features(model.num_features() + 1);
    model.add_weights(0);
    EXPECT_THAT(
        ModelStore(server_.store()).Publish(model, nullptr, {}).status(),
        testing::Property(
            &absl::Status::message,
            HasSubstr(absl::StrCat("column '", name, "' is a CATEGORY"))));
  }

  uint64_t AnyVersion() { return 1 + random_.Below(versions_.size()); }

  void ChooseServing() {
    primary_ = versions_.size();
    arms_.clear();
    shadow_ = 0;
    if (Flip(0.5)) arms_ = {AnyVersion(), primary_};
    if (!arms_.empty() && arms_[0] == primary_) arms_.clear();
    if (Flip(0.5)) shadow_ = AnyVersion();
    if (shadow_ == primary_ || (!arms_.empty() && shadow_ == arms_[0])) {
      shadow_ = 0;
    }
    ASSERT_OK(server_.Serve([&](model::v1::Serving* serving) {
      if (!arms_.empty()) {
        EXPECT_OK(AssignPlaces({{arms_[0], 5000}}, serving->mutable_split()));
      }
      if (shadow_ > 0) {
        serving->add_shadows()->set_version(shadow_);
        serving->mutable_shadows(0)->set_every(1);
      }
    }));
  }

  // Mostly what the versions require, and other columns at random.
  void ChooseSent() {
    sent_.clear();
    for (const std::string& name : Names()) {
      bool is_required = primary_ > 0 && versions_[primary_ - 1].Requires(name);
      for (const uint64_t arm : arms_) {
        is_required = is_required || versions_[arm - 1].Requires(name);
      }
      if (is_required ? Flip(0.97) : Flip(0.4)) sent_.insert(name);
    }
    if (sent_.empty() || *sent_.begin() == "query") sent_.insert("a");
  }

  bool IsSuited() const {
    if (primary_ == 0) return true;
    bool suits = versions_[primary_ - 1].Suits(sent_);
    for (const uint64_t arm : arms_) {
      suits = suits && versions_[arm - 1].Suits(sent_);
    }
    return suits;
  }

  Request MakeRequest(v1::Columns* columns) {
    Request request;
    request.rows.resize(kCandidates);
    request.rewards.assign(kCandidates, 0.4);
    columns->set_num_candidates(kCandidates);
    for (const std::string& name : Names()) {
      const bool is_query = name == "query";
      // Rewards depend on what is not sent, too.
      double value = Quarter();
      v1::Column column;
      column.set_name(name);
      for (uint32_t i = 0; i < kCandidates; ++i) {
        if (!is_query) value = Quarter();
        request.rewards[i] += worth_[name] * std::tanh(value) / 4;
        if (!sent_.contains(name)) continue;
        request.rows[i][name] = value;
        if (!is_query || i == 0) column.mutable_numbers()->add_values(value);
      }
      if (!sent_.contains(name)) continue;
      *(is_query ? columns->add_query() : columns->add_candidate()) = column;
    }
    for (double& reward : request.rewards) {
      reward = std::clamp(reward, 0.05, 0.95);
    }
    return request;
  }

  void Send(const std::string& id) {
    v1::DecisionContext context;
    context.set_decision_id(id);
    context.set_unit_id(id);
    Request request =
        MakeRequest(context.mutable_candidates()->mutable_columns());
    const absl::Status status = server_.Select(context);
    if (!IsSuited()) {
      ++num_refused_;
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("' is absent, must be a NUMBER of the "));
      return;
    }
    EXPECT_OK(status);
    actions_[id] = server_.selected();
    requests_.emplace(id, std::move(request));
    if (primary_ > 0 && shadow_ > 0 && versions_[shadow_ - 1].Suits(sent_)) {
      ++num_views_;
    }
  }

  double ProbabilityOf(uint64_t version, const std::string& id,
                       int32_t document) const {
    return Probabilities(versions_[version - 1],
                         requests_.at(id))[static_cast<size_t>(document)];
  }

  void ExpectPropensity(const log::v1::Decision& decision) const {
    const std::string& id = decision.decision_id();
    const double p = std::exp(decision.log_propensity());
    if (decision.version() == 0) {
      EXPECT_NEAR(p, 1.0 / kCandidates, 1e-12);
      return;
    }
    EXPECT_NEAR(p, ProbabilityOf(decision.version(), id, decision.action(0)),
                1e-9);
    if (!decision.has_arm()) return;
    double mixture = 0;
    const auto& split = decision.arm().split();
    for (const auto& arm : split.arms()) {
      mixture += 0.5 * ProbabilityOf(arm.version(), id, decision.action(0));
    }
    mixture += 0.5 * ProbabilityOf(decision.arm().primary_version(), id,
                                   decision.action(0));
    EXPECT_NEAR(std::exp(decision.arm().mixture_log_propensity()), mixture,
                1e-9);
  }

  void ExpectView(const log::v1::ShadowView& view) const {
    const std::string& id = view.decision_id();
    EXPECT_NEAR(std::exp(view.log_propensity()),
                ProbabilityOf(view.version(), id, actions_.at(id)), 1e-9);
  }

  const std::string name_;
  RandomSequence random_;
  ModesServer server_;
  std::map<std::string, double> worth_;
  std::vector<Version> versions_;  // Number 1 first.
  uint64_t primary_ = 0;
  std::vector<uint64_t> arms_;  // None, or two, the primary one last.
  uint64_t shadow_ = 0;         // 0: none.
  std::set<std::string> sent_;
  std::map<std::string, Request> requests_;  // Answered ones, by id.
  std::map<std::string, int32_t> actions_;   // By the same ids.
  uint64_t num_views_ = 0;
  int num_refused_ = 0;
};

TEST(ColumnEvolutionTest, LogsRepeatAndEstimatesHold) {
  const int judged =
      std::getenv("SORTITION_LONG") != nullptr ? kSequences : kJudged;
  int held = 0;
  int all = 0;
  int refused = 0;
  for (int i = 0; i < kSequences && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("history ", i));
    History history(i);
    history.Run();
    history.ExpectVerified();
    refused += history.num_refused();
    if (i < judged) history.Judge(&held, &all);
  }
  std::printf("%d of %d intervals hold, %d requests refused\n", held, all,
              refused);
  // Refusals occur, and do not prevail.
  EXPECT_GT(refused, kSequences);
  EXPECT_LT(refused, kSequences * kDays * kRequestsPerDay / 5);
  // Four standard deviations below 95 %.
  EXPECT_GE(held, 0.95 * all - 4 * std::sqrt(0.95 * 0.05 * all));
}

}  // namespace
}  // namespace sortition
