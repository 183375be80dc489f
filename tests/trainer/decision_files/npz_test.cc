// Files of NumPy's arrays, written by Python with the layout of numpy.savez().
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/decision_files/probability_file.h"
#include "trainer/decision_files/reward_file.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// a() is an array of one type, u() one of texts of n characters.
constexpr char kWriter[] = R"(
import struct, sys, zipfile
def a(type, shape, values, code, order=False):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (
        type, order, shape)
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    data = b''.join(v if isinstance(v, bytes) else struct.pack(code, v)
                    for v in values)
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) +
            header.encode() + data)
def u(n, *texts):
    return a('<U%d' % n, '(%d,)' % len(texts),
             [t.encode('utf-32-le').ljust(4 * n, b'\0') for t in texts], '')
def write(method=zipfile.ZIP_STORED, **arrays):
    with zipfile.ZipFile(sys.argv[1], 'w', method) as archive:
        for name, data in arrays.items():
            with archive.open(name + '.npy', 'w', force_zip64=True) as file:
                file.write(data)
)";

class NpzTest : public testing::Test {
 protected:
  std::string Save(const std::string& arrays) {
    const std::string path = dir_ / "file.npz";
    const auto run =
        RunToEnd({"/usr/bin/env", "python3", "-c",
                  std::string(kWriter) + "write(" + arrays + ")", path});
    EXPECT_OK(run);
    EXPECT_EQ(run->exit_code, 0) << run->stderr_text;
    return path;
  }
  TempDir dir_;
};

TEST_F(NpzTest, ReadsIdsAndRows) {
  ASSERT_OK_AND_ASSIGN(
      const auto file,
      ProbabilityFile::Read(
          Save("decision_id=u(3, 'a', 'b\\u00e9\\u20ac'), "
               "other=a('<i8', '(2,)', [1, 2], '<q'), "
               "probabilities=a('<f8', '(2, 2)', [0.25, 0.75, 1, 0], '<d')")));
  EXPECT_THAT(file.Find("a")->values, ElementsAre(0.25, 0.75));
  EXPECT_THAT(file.Find("b\u00e9\u20ac")->values, ElementsAre(1, 0));
  ASSERT_OK_AND_ASSIGN(
      const auto rewards,
      RewardFile::Read(
          Save("decision_id=a('|S2', '(2,)', [b'a\\0', b'bc'], ''), "
               "reward=a('<i4', '(2,)', [1, -2], '<i')")));
  EXPECT_EQ(rewards.RewardOf("a"), 1);
  EXPECT_EQ(rewards.RewardOf("bc"), -2);
  ASSERT_OK_AND_ASSIGN(const auto scores,
                       ProbabilityFile::Read(
                           Save("decision_id=u(1, 'a'), "
                                "scores=a('<f4', '(1, 2)', [0.5, -3], '<f')")));
  EXPECT_THAT(scores.Find("a")->values, ElementsAre(0.5, -3));
}

TEST_F(NpzTest, NamesWhatIsWrong) {
  const struct {
    std::string arrays;
    std::string message;
  } kCases[] = {
      {"reward=a('<f8', '(1,)', [1], '<d')", "array 'decision_id' is missing"},
      {"decision_id=u(1, 'a'), reward=a('<f8', '(2,)', [1, 2], '<d')",
       "array 'reward' has 2 rows, must have 1"},
      {"decision_id=u(1, 'a'), reward=a('<f8', '(1,)', [float('nan')], '<d')",
       ":1: reward[0] is nan, must be a finite number"},
      {"decision_id=u(1, 'a'), reward=a('<c16', '(1,)', [0, 1], '<d')",
       "array 'reward' has type '<c16', must be"},
      {"decision_id=u(1, 'a'), x=a('<f8', '(1, 1, 1)', [0], '<d')",
       "array 'x' must have one or two dimensions"},
      {"decision_id=u(1, 'a'), x=a('<f8', '(1, 2)', [0, 1], '<d', True)",
       "array 'x' must be in C order"},
      {"decision_id=u(1, 'a'), x=a('<f8', '(1000,)', [0], '<d')",
       "array 'x' is damaged"},
      {"zipfile.ZIP_DEFLATED, decision_id=u(1, 'a')",
       "is compressed, must be written by numpy.savez"},
  };
  for (const auto& bad : kCases) {
    EXPECT_THAT(
        RewardFile::Read(Save(bad.arrays)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.arrays;
  }
}

}  // namespace
}  // namespace sortition
