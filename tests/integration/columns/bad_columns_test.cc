// Bad columns are refused by a server that runs, and leave nothing in its log.
#include "tests/core/features/schema/bad_columns.h"

#include <signal.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "io/models/model_store.h"
#include "tests/integration/loop_fixture.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model of the columns that is uniform, as it has no weights but 0.
model::v1::Model ModelOfColumns() {
  constexpr uint32_t kBits = 3;
  model::v1::Model model;
  model.set_name("default");
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->mutable_softmax_selection();
  model::v1::Features& features = *model.mutable_features();
  *features.mutable_spec()->mutable_schema() = GoodSchemaMessage();
  auto* const hash = features.mutable_spec()->add_transform()->mutable_hash();
  hash->set_column("color");
  hash->set_bits(kBits);
  features.mutable_learned()->add_transform();  // It learns nothing.
  features.set_schema_hash(GoodSchema().hash());
  model.set_num_features(1u << kBits);
  model.mutable_weights()->Resize(1 << kBits, 0);
  return model;
}

v1::SelectRequest RequestOf(const std::string& id, const v1::Columns& columns) {
  v1::SelectRequest request;
  request.mutable_context()->set_decision_id(id);
  *request.mutable_context()->mutable_candidates()->mutable_columns() = columns;
  return request;
}

using BadColumnsTest = LoopFixture;

TEST_F(BadColumnsTest, AreRefusedByNameValueAndRule) {
  ASSERT_OK(deployment_.store().Publish(ModelOfColumns(), nullptr, {}, {}));
  ASSERT_OK(deployment_.StartServer({}));
  ExpectServed(1);
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(deployment_.address()));
  for (const BadColumns& each : AllBadColumns()) {
    v1::Columns columns = GoodColumns();
    each.damage(&columns);
    const absl::Status status =
        client->Select(RequestOf("bad", columns)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << each.error << "\n"
        << status;
    // Some are refused before the columns are looked at: bytes that are not
    // UTF-8 are no message, and servers have a limit of candidates of their
    // own.
    if (absl::StrContains(each.error, "UTF-8")) {
      EXPECT_THAT(status.message(), HasSubstr("must be UTF-8"));
    } else if (absl::StrContains(each.error, "num_candidates is")) {
      EXPECT_THAT(status.message(), HasSubstr("candidates.columns holds "));
    } else {
      EXPECT_THAT(status.message(), HasSubstr(each.error));
    }
  }
  EXPECT_OK(client->Select(RequestOf("good", GoodColumns())));
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  ASSERT_OK_AND_ASSIGN(const auto logged,
                       SpoolDecisionIds(deployment_.spool()));
  EXPECT_THAT(logged, ElementsAre("good"));
}

}  // namespace
}  // namespace sortition
