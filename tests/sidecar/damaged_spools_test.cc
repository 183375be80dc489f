// Damage in one of several spools.
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/several_spools_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;
using testing::Pair;

class DamagedSpoolsTest : public SeveralSpoolsTest {
 protected:
  // Damages the payload of a record of the newest segment; the header is number
  // 0.
  void Damage(const std::string& writer, int number) {
    const std::string path =
        SpoolOf(writer) + "/" + Names(SpoolOf(writer)).back();
    const auto reader = *SegmentReader::Open(path);
    absl::string_view payload;
    uint64_t offset = 0;
    for (int i = 0; i <= number; ++i) {
      ASSERT_EQ(*reader->Next(&payload, &offset),
                SegmentReader::Outcome::kRecord);
    }
    constexpr uint64_t kFrameHead = 12;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset + kFrameHead));
    file << "????";
  }
};

// The last record of b is damaged, and b has nothing to say any more.
TEST_F(DamagedSpoolsTest, DamageAtTheEndOfAServerThatIsGoneEnds) {
  options_.mutable_join()->set_reroute_seconds(1);
  Write("b", {DecisionRecord("y", At(-30)), DecisionRecord("z", At(-20))});
  Damage("b", 2);
  SayAlive("b", At(-15));
  Write("a", {DecisionRecord("x", At(5)), DecisionRecord("later", At(60))});
  const auto pipeline = Open();
  // Until then the damage may be of feedback for x.
  RunUntil(pipeline.get(), At(10));
  RunUntil(pipeline.get(), At(200));
  std::map<std::string, bool> censored;
  for (const auto& tuple : ReadTuples(options_.tuples())) {
    censored[tuple.decision().decision_id()] = tuple.censored_size() > 0;
  }
  EXPECT_THAT(censored, ElementsAre(Pair("later", false), Pair("x", true),
                                    Pair("y", true)));
}

// The spool of b is empty when the sidecar starts: its first segment tells the
// writer, and that by its name.
TEST_F(DamagedSpoolsTest, AFirstSegmentWithADamagedHeaderIsRead) {
  const auto pipeline = Open();
  RunUntil(pipeline.get(), At(0));
  Write("b", {DecisionRecord("x", At(1))});
  Damage("b", 0);
  RunUntil(pipeline.get(), At(40));
  EXPECT_THAT(Tuples(), ElementsAre("b/x=0"));
}

}  // namespace
}  // namespace sortition
