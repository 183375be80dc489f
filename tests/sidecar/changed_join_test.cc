// A sidecar that starts with other options begins new segments.
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "io/segments/parse_message.h"
#include "io/segments/reward_join.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition::testing_sidecar {
namespace {

using testing::ElementsAre;
using testing::Pair;

class ChangedJoinTest : public PipelineTest,
                        public testing::WithParamInterface<bool> {
 protected:
  // Returns the join that the header of each segment names, and the number of
  // its tuples.
  std::map<std::string, std::pair<std::string, size_t>> Segments() const {
    std::map<std::string, std::pair<std::string, size_t>> segments;
    for (const std::string& name : Names(options_.tuples())) {
      auto& [join, tuples] = segments[name];
      const auto reader = SegmentReader::Open(options_.tuples() + "/" + name);
      EXPECT_OK(reader);
      absl::string_view payload;
      uint64_t offset = 0;
      while (*(*reader)->Next(&payload, &offset) ==
             SegmentReader::Outcome::kRecord) {
        log::v1::LogRecord record;
        EXPECT_TRUE(ParseMessage(payload, &record));
        if (record.has_header()) join = RewardJoinText(record.header());
        if (record.has_tuple()) ++tuples;
      }
    }
    return segments;
  }
};

TEST_P(ChangedJoinTest, TuplesStandUnderTheOptionsThatJoinedThem) {
  WriteSpool(options_.spool(0), History(60, 5, kStartUs), 30);
  options_.set_delete_spool(false);
  ASSERT_TRUE(DieAfter(60));
  if (GetParam()) {
    const auto pipeline = Open();
    ASSERT_OK(pipeline->Close());
  }
  const auto before = Segments();
  std::set<std::string> old_joins;
  size_t old_tuples = 0;
  for (const auto& [name, segment] : before) {
    old_joins.insert(segment.first);
    old_tuples += segment.second;
  }
  ASSERT_THAT(old_joins, ElementsAre("SUM of 10 s, default 0"));
  ASSERT_GT(old_tuples, 0u);

  options_.mutable_join()->set_reward_wait_time_seconds(4);
  options_.mutable_join()->set_default_reward(-1);
  Finish();
  std::map<std::string, size_t> tuples;
  for (const auto& [name, segment] : Segments()) {
    tuples[segment.first] += segment.second;
    if (before.contains(name)) {
      EXPECT_EQ(segment, before.at(name)) << name;
    }
  }
  EXPECT_THAT(tuples,
              ElementsAre(Pair("SUM of 10 s, default 0", old_tuples),
                          Pair("SUM of 4 s, default -1", testing::Gt(0u))));
}

INSTANTIATE_TEST_SUITE_P(KilledOrClosed, ChangedJoinTest, testing::Bool());

}  // namespace
}  // namespace sortition::testing_sidecar
