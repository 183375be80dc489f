#include "io/models/warmup_query.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

log::v1::Decision Parse(const std::string& text) {
  log::v1::Decision decision;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &decision));
  return decision;
}

TEST(WarmupQueryTest, NothingNamesOrQuotesTheUser) {
  const log::v1::Decision query = WarmupQuery(Parse(R"(
    decision_id: "secret" time_us: 5 model: "m" version: 3 unit_id: "secret"
    action_kind: RANK num_candidates: 2 top_k: 1 action: 1 log_propensity: -1
    eligible: true eligible: false
    candidate_ids: "secret" candidate_ids: "secret2"
    attributes { key: "secret" value: "secret" } seed: 7
    columns {
      num_candidates: 2
      candidate { name: "title" texts { values: "secret plan" values: "" } }
      candidate { name: "price" numbers { values: 3 values: 1e6 } }
      candidate { name: "color" missing: 1
                  categories { values: "secret" values: "" } }
      candidate { name: "tags" category_sets { offsets: 0 offsets: 2 offsets: 3
                  values: "secret" values: "secret2" values: "secret" } }
      candidate { name: "place" vectors { size: 2 values: 3 values: 4
                  values: 0 values: 0 } }
      query { name: "query" texts { values: "who is\nsecret?" } }
    })"));
  EXPECT_THAT(query.SerializeAsString(), Not(HasSubstr("secret")));
  // What a server needs to try the version is left. The norm of (3, 4) is 5,
  // that of (5 / sqrt(2), 5 / sqrt(2)), too.
  log::v1::Decision expected = Parse(R"(
    action_kind: RANK num_candidates: 2 top_k: 1
    eligible: true eligible: false
    columns {
      num_candidates: 2
      candidate { name: "title" texts { values: "xxxxxx xxxx" values: "" } }
      candidate { name: "price" numbers { values: 3 values: 1e6 } }
      candidate { name: "color" missing: 1
                  categories { values: "x" values: "" } }
      candidate { name: "tags" category_sets { offsets: 0 offsets: 2 offsets: 3
                  values: "x0" values: "x1" values: "x0" } }
      candidate { name: "place" vectors { size: 2 values: 3.5355339
                  values: 3.5355339 values: 0 values: 0 } }
      query { name: "query" texts { values: "xxx xx\nxxxxxxx" } }
    })");
  EXPECT_EQ(query.DebugString(), expected.DebugString());
}

TEST(WarmupQueryTest, FeaturesStay) {
  const log::v1::Decision dense =
      WarmupQuery(Parse(R"(decision_id: "d" num_features: 2 num_candidates: 1
               dense_values: 0.5 dense_values: -2)"));
  EXPECT_THAT(dense.dense_values(), testing::ElementsAre(0.5f, -2.0f));
  EXPECT_EQ(dense.decision_id(), "");
  const log::v1::Decision sparse = WarmupQuery(
      Parse(R"(num_features: 9 num_candidates: 1 sparse { row_offsets: 0
               row_offsets: 1 columns: 7 values: 3 })"));
  EXPECT_THAT(sparse.sparse().columns(), testing::ElementsAre(7u));
}

}  // namespace
}  // namespace sortition
