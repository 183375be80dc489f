// What moved since training is named, and nothing else is.
#include <cmath>
#include <functional>

#include "client/validation/drift_check.h"
#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "io/models/model_store.h"
#include "tests/client/validation/validate_fixture.h"
#include "tests/testing/parse_text.h"

namespace sortition {
namespace {

constexpr char kSpec[] = R"(
schema {
  column { name: 'price' type: NUMBER }
  column { name: 'stars' type: NUMBER }
  column { name: 'title' type: TEXT }
  column { name: 'color' type: CATEGORY }
  column { name: 'city' type: CATEGORY scope: QUERY missing: true }
}
transform { number { column: 'price' log1p: true standardise: true } }
transform { number { column: 'stars' } }
transform { vocabulary { column: 'color' } }
transform { hash { column: 'city' bits: 4 } }
)";
constexpr size_t kTrained = 2000;
constexpr size_t kServed = 1000;

v1::Column* AddColumn(const char* name,
                      google::protobuf::RepeatedPtrField<v1::Column>* columns) {
  v1::Column* const column = columns->Add();
  column->set_name(name);
  return column;
}

// Query `i` of a shop in which nothing moves.
v1::Columns ShopQuery(const std::string& name, size_t i) {
  RandomSequence random(
      StableHash(HashDomain::kSimulation, {name, absl::StrCat(i)}));
  v1::Columns columns;
  columns.set_num_candidates(kCandidates);
  v1::Column* const price = AddColumn("price", columns.mutable_candidate());
  v1::Column* const stars = AddColumn("stars", columns.mutable_candidate());
  v1::Column* const title = AddColumn("title", columns.mutable_candidate());
  v1::Column* const color = AddColumn("color", columns.mutable_candidate());
  for (uint32_t row = 0; row < kCandidates; ++row) {
    price->mutable_numbers()->add_values(std::exp(random.Normal()));
    stars->mutable_numbers()->add_values(
        static_cast<double>(1 + random.Below(5)));
    title->mutable_texts()->add_values(std::string(10 + random.Below(20), 'x'));
    color->mutable_categories()->add_values(random.Uniform() < 0.7 ? "red"
                                                                   : "blue");
  }
  AddColumn("city", columns.mutable_query())
      ->mutable_categories()
      ->add_values(random.Uniform() < 0.5 ? "Rome" : "Bern");
  return columns;
}

class DriftTest : public ValidateFixture {
 protected:
  using Change = std::function<void(v1::Columns*)>;

  // Publishes a version that was trained on the shop.
  void Train() {
    const auto spec = ParseText<model::v1::FeatureSpec>(kSpec);
    ASSERT_OK_AND_ASSIGN(
        const model::v1::Features features,
        LearnFeatures(spec, [](QueryVisitor visit) -> absl::Status {
          for (size_t i = 0; i < kTrained; ++i) {
            const absl::Status status = visit(ShopQuery("training", i));
            if (!status.ok()) return status;
          }
          return absl::OkStatus();
        }));
    model::v1::Model model;
    model.set_name("default");
    model.mutable_policy()->mutable_softmax_selection();
    model.mutable_policy()->set_inverse_temperature(1);
    model.mutable_policy()->set_uniform_mixture(0.1);
    *model.mutable_features() = features;
    const auto transform = FeatureTransform::Create(features);
    ASSERT_OK(transform);
    model.set_num_features(transform->num_features());
    for (uint32_t j = 0; j < transform->num_features(); ++j) {
      model.add_weights(j == 0 ? 0.5 : 0.1);
    }
    options_.set_model_store(dir_.Sub("models"));
    ASSERT_OK(ModelStore(options_.model_store()).Publish(model, nullptr, {}));
  }

  // Returns what a server with the version would have logged, with columns that
  // `change` had changed.
  Tuples Decide(uint64_t version, size_t n, const Change& change,
                size_t first) {
    const StoredModel stored =
        *ModelStore(options_.model_store()).Load("default", 1);
    const LinearPolicy policy = *LinearPolicy::Create(stored.model);
    PolicyWorkspace workspace;
    Draw draw;
    Tuples tuples(n);
    for (size_t i = 0; i < n; ++i) {
      log::v1::BanditTuple& tuple = tuples[i];
      tuple.set_spool_writer("server");
      tuple.mutable_position()->set_segment("spool.seg");
      tuple.mutable_position()->set_offset(1000 * (first + i));
      tuple.set_has_feedback(true);
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.set_decision_id(absl::StrCat("d", first + i));
      decision.set_time_us(1000000 + static_cast<int64_t>(first + i));
      decision.set_model("default");
      decision.set_version(version);
      *decision.mutable_policy() = stored.model.policy();
      decision.set_action_kind(log::v1::SELECT);
      decision.set_num_candidates(kCandidates);
      *decision.mutable_columns() = ShopQuery("serving", first + i);
      change(decision.mutable_columns());
      PolicyQuery query;
      query.columns = &decision.columns();
      policy.Decide(query,
                    DecisionKey("default", version, decision.decision_id(),
                                stored.draw_salt),
                    &workspace, &draw);
      EXPECT_OK(workspace.refusal);
      decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
      decision.set_log_propensity(draw.log_propensity);
    }
    return tuples;
  }

  void Serve(uint64_t version, size_t n, const Change& change,
             size_t first = 0) {
    Write(Decide(version, n, change, first));
  }

  // What the check says.
  std::vector<Finding> Drift() {
    std::vector<Finding> findings;
    for (const CheckResult& result : Validate()) {
      if (result.check == "drift") findings.push_back(result.finding);
    }
    return findings;
  }

  static void Nothing(v1::Columns* /*columns*/) {}
  // Cents in place of francs.
  static void InCents(v1::Columns* columns) {
    for (double& value :
         *columns->mutable_candidate(0)->mutable_numbers()->mutable_values()) {
      value *= 100;
    }
  }
};

TEST_F(DriftTest, WhatIsServedAsItWasTrainedPasses) {
  Train();
  Serve(1, kServed, Nothing);
  EXPECT_THAT(Found(), IsEmpty());
  const auto drift = Drift();
  ASSERT_EQ(drift.size(), 1u);
  // The five that moved most, of five columns and the two features that are
  // not sparse.
  EXPECT_THAT(drift[0].text, HasTexts("default version 1: 1000 decisions as in "
                                      "training, by stability index: ",
                                      ", 2 more"));
}

TEST_F(DriftTest, AColumnInAnotherUnitIsNamed) {
  Train();
  Serve(1, kServed, InCents);
  const auto found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("drift").level, Level::kWarn);
  EXPECT_THAT(
      found.at("drift").text,
      AllOf(HasSubstr("default version 1: 2 of 7 columns and features are not "
                      "as in training: "),
            HasSubstr("column price "), HasSubstr("feature log1p(price) "),
            HasSubstr("stability index above 0.25"), Not(HasSubstr("stars")),
            Not(HasSubstr("title")), Not(HasSubstr("color")),
            Not(HasSubstr("city"))));
  ValidateResult result;
  result.results = Validate();
  EXPECT_THAT(ValidateResultJson(result),
              HasSubstr("{\"check\":\"drift\",\"result\":\"WARN\",\"text\":"
                        "\"default version 1: 2 of 7"));
}

TEST_F(DriftTest, CategoriesTextsAndMissingValuesMoveToo) {
  Train();
  Serve(1, kServed, [](v1::Columns* columns) {
    for (auto& text :
         *columns->mutable_candidate(2)->mutable_texts()->mutable_values()) {
      text += std::string(30, 'x');
    }
    for (auto& color : *columns->mutable_candidate(3)
                            ->mutable_categories()
                            ->mutable_values()) {
      color = "green";
    }
    columns->mutable_query()->Clear();  // All missing.
  });
  const auto found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found.at("drift").text,
              AllOf(HasSubstr("3 of 7"), HasSubstr("column title "),
                    HasSubstr("column color "), HasSubstr("column city "),
                    Not(HasSubstr("price")), Not(HasSubstr("stars"))));
}

// Of 8 decisions, every column of the query has an index above 0.25: the half
// value in each of its two empty bins makes 0.26 each.
TEST_F(DriftTest, ChanceIsNoDrift) {
  constexpr size_t kFew = 8;
  Train();
  for (size_t log = 0; log < 20; ++log) {
    DriftCheck check(options_.model_store(), 1);
    for (const auto& tuple : Decide(1, kFew, Nothing, kFew * log)) {
      LogEntry entry;
      entry.decision = &tuple.decision();
      check.Take(entry);
    }
    for (const Finding& finding : check.Report()) {
      EXPECT_EQ(finding.level, Level::kPass) << finding.text;
    }
  }
}

TEST_F(DriftTest, VersionsThatAreNotInTheStoreAreTolerated) {
  Train();
  Serve(1, kServed, Nothing);
  Serve(7, 10, Nothing, kServed);
  const auto drift = Drift();
  ASSERT_EQ(drift.size(), 2u);
  EXPECT_EQ(drift[0].level, Level::kPass);
  EXPECT_THAT(drift[0].text, HasSubstr("version 1: 1000 decisions as in"));
  EXPECT_EQ(drift[1].level, Level::kWarn);
  EXPECT_THAT(drift[1].text, HasTexts("no training to compare with: 10 of 1010",
                                      "decision d1000: "));
}

TEST_F(DriftTest, ColumnsThatTheModelRefusesAreCounted) {
  Train();
  log::v1::BanditTuple tuple = Decide(1, 1, Nothing, 0)[0];
  tuple.mutable_decision()->mutable_columns()->mutable_candidate(0)->set_name(
      "prize");
  DriftCheck check(options_.model_store(), 1);
  LogEntry entry;
  entry.decision = &tuple.decision();
  check.Take(entry);
  const auto findings = check.Report();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kWarn);
  EXPECT_THAT(findings[0].text, HasTexts("1 of 1 decisions", "'prize'"));
}

TEST_F(DriftTest, ALogOfFeaturesHasNothingToCompare) {
  Train();
  DriftCheck check(options_.model_store(), 1);
  EXPECT_EQ(check.Report()[0].text,
            "no decision of a version has named columns");
}

}  // namespace
}  // namespace sortition
