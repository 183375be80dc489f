// Decisions about named columns, recomputed from what was logged of them.
#include <optional>
#include <string>

#include "client/logs/log_verify.h"
#include "core/base/random.h"
#include "core/features/schema/made_up_columns.h"
#include "tests/client/logs/log_fixture.h"
#include "tests/testing/column_model.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ColumnVerifyTest : public LogFixture {
 protected:
  // Publishes a model that was learned with this version of Unicode; empty:
  // with that of this program.
  model::v1::Model PublishColumns(const std::string& unicode_version) {
    model::v1::Model model = MakeColumnModel("columns", 3);
    if (!unicode_version.empty()) {
      model.mutable_features()->mutable_learned()->set_unicode_version(
          unicode_version);
    }
    const auto version = ModelStore(store()).Publish(model, nullptr, {},
                                                     {.draw_salt = kDrawSalt});
    EXPECT_OK(version);
    model.set_version(version.value_or(0));
    return model;
  }

  // A decision as a server would have logged it.
  static log::v1::Decision DecideColumns(const model::v1::Model& model) {
    const Schema schema =
        Schema::Create(model.features().spec().schema()).value();
    RandomSequence random(SeedKey(8));
    log::v1::Decision decision;
    decision.set_decision_id("a");
    decision.set_model(model.name());
    decision.set_version(model.version());
    *decision.mutable_policy() = model.policy();
    decision.set_action_kind(log::v1::SELECT);
    decision.set_num_candidates(4);
    *decision.mutable_columns() = MakeUpColumns(schema, 4, &random);
    decision.set_can_abstain(true);
    const LinearPolicy policy = LinearPolicy::Create(model).value();
    PolicyQuery query;
    query.columns = &decision.columns();
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(
        query, DecisionKey(model.name(), model.version(), "a", SaltOf(model)),
        &workspace, &draw);
    EXPECT_OK(workspace.refusal);
    decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
    decision.set_log_propensity(draw.log_propensity);
    return decision;
  }

  // What verification says; empty: nothing differs.
  std::string Difference(const log::v1::Decision& decision) {
    DecisionVerifier verifier{ModelStore(store())};
    const auto difference = verifier.Difference(decision);
    EXPECT_OK(difference);
    return difference.ok() ? difference->value_or("") : "";
  }
};

TEST_F(ColumnVerifyTest, RecomputesFeaturesOfColumns) {
  log::v1::Decision decision = DecideColumns(PublishColumns(""));
  EXPECT_EQ(Difference(decision), "");
  // Another text has other features. It says nothing of Unicode.
  for (v1::Column& column : *decision.mutable_columns()->mutable_candidate()) {
    if (column.name() != "price") continue;
    const double price = column.numbers().values(0);
    column.mutable_numbers()->set_values(0, price + 1);
  }
  EXPECT_THAT(Difference(decision), HasSubstr("expected"));
  EXPECT_THAT(Difference(decision), Not(HasSubstr("Unicode")));
}

TEST_F(ColumnVerifyTest, NamesTheUnicodeThatMayBeTheReason) {
  log::v1::Decision decision = DecideColumns(PublishColumns("1.1"));
  EXPECT_EQ(Difference(decision), "");
  decision.set_log_propensity(decision.log_propensity() / 2);
  EXPECT_THAT(Difference(decision), HasSubstr("log_propensity ("));
  EXPECT_THAT(Difference(decision),
              HasSubstr("texts were split into words by Unicode 1.1"));
}

}  // namespace
}  // namespace sortition
