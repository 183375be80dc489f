#include "io/models/serving_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/text_message.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/model/v1/serving.pb.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using model::v1::Serving;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ServingStateTest : public testing::Test {
 protected:
  ServingStateTest() { std::filesystem::create_directory(dir()); }

  std::string dir() const { return directory_ / "m"; }
  std::string file() const { return dir() + "/SERVING.textproto"; }
  std::string FileOf(uint64_t change) const {
    return dir() + "/.serving/" + std::to_string(change) + ".textproto";
  }
  void Write(const std::string& text) const { std::ofstream(file()) << text; }

  absl::StatusOr<Serving> Pin(uint64_t version) const {
    return ChangeServing(dir(), {"because", "ann"}, [&](Serving* serving) {
      serving->set_pinned_version(version);
      return absl::OkStatus();
    });
  }

  // Returns "change:pinned" of all states of the history.
  std::vector<std::string> History() const {
    const auto history = ServingHistory(dir());
    EXPECT_OK(history);
    std::vector<std::string> states;
    for (const Serving& state : history.value_or(std::vector<Serving>())) {
      states.push_back(std::to_string(state.change()) + ":" +
                       std::to_string(state.pinned_version()));
    }
    return states;
  }

  TempDir directory_;
};

TEST_F(ServingStateTest, IsEmptyWhereThereNeverWasAFile) {
  ASSERT_OK_AND_ASSIGN(const Serving serving, ReadServing(dir()));
  EXPECT_EQ(serving.ByteSizeLong(), 0u);
  EXPECT_THAT(History(), IsEmpty());
}

TEST_F(ServingStateTest, ChangesAreNumberedAndKeptWithTheirCause) {
  EXPECT_OK(Pin(3));
  ASSERT_OK_AND_ASSIGN(const Serving changed, Pin(4));
  EXPECT_EQ(changed.change(), 2u);
  EXPECT_EQ(changed.reason(), "because");
  EXPECT_EQ(changed.caller(), "ann");
  EXPECT_THAT(changed.time(), SizeIs(25));  // 2026-11-25T10:00:00+00:00
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.SerializeAsString(), changed.SerializeAsString());
  EXPECT_THAT(History(), ElementsAre("1:3", "2:4"));
}

TEST_F(ServingStateTest, WhatFailsChangesNothing) {
  EXPECT_OK(Pin(3));
  EXPECT_THAT(ChangeServing(dir(), {"r", "c"},
                            [](Serving* serving) {
                              serving->set_pinned_version(4);
                              return absl::AbortedError("no");
                            }),
              StatusIs(StatusCode::kAborted, "no"));
  EXPECT_THAT(ChangeServing(dir(), {"r", "c"},
                            [](Serving* serving) {
                              serving->set_explore_parts(1);
                              return absl::OkStatus();
                            }),
              IsInvalidArgument("explore"));
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.pinned_version(), 3u);
  EXPECT_THAT(History(), ElementsAre("1:3"));
}

TEST_F(ServingStateTest, SplitsGetASaltOnceAndKeepIt) {
  const auto split = [&](uint32_t places) {
    const auto changed =
        ChangeServing(dir(), {"r", "c"}, [&](Serving* serving) {
          serving->mutable_split()->clear_arms();
          if (places == 0) return absl::OkStatus();
          auto& arm = *serving->mutable_split()->add_arms();
          arm.set_version(8);
          arm.add_ranges()->set_end(places);
          return absl::OkStatus();
        });
    EXPECT_OK(changed);
    return changed.ok() ? changed->split().salt() : "";
  };
  const std::string salt = split(100);
  EXPECT_THAT(salt, SizeIs(32));
  EXPECT_EQ(split(200), salt);
  EXPECT_EQ(split(0), "");
  EXPECT_NE(split(100), salt);
}

// An editor that does not rename leaves the file empty for a moment.
TEST_F(ServingStateTest, AnEmptyFileUnpinsNothing) {
  ASSERT_OK(Pin(2));
  Write("\n");
  const auto state = ReadServing(dir());
  EXPECT_EQ(state.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(state.status().message()), HasSubstr("is empty"));
  ASSERT_OK(Pin(3));
  EXPECT_THAT(History(), ElementsAre("1:2", "2:3"));
}

TEST_F(ServingStateTest, AStateEditedByHandJoinsTheHistory) {
  EXPECT_OK(Pin(3));
  Write("pinned_version: 5 change: 1");
  // The number that the file says is the one to expect.
  EXPECT_OK(ChangeServing(dir(), {"r", "c"}, [](Serving* serving) {
    EXPECT_EQ(serving->change(), 1u);
    serving->set_mode(model::v1::OFF);
    return absl::OkStatus();
  }));
  EXPECT_THAT(History(), ElementsAre("1:3", "2:5", "3:5"));
  ASSERT_OK_AND_ASSIGN(const auto history, ServingHistory(dir()));
  EXPECT_EQ(history[1].reason(), "edited by hand");
}

TEST_F(ServingStateTest, OfALongHistoryOnlyTheLastStatesAreRead) {
  for (uint64_t version = 1; version <= 5; ++version) ASSERT_OK(Pin(version));
  ASSERT_OK_AND_ASSIGN(const auto last, ServingHistory(dir(), 2));
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].change(), 4u);
  EXPECT_EQ(last[1].change(), 5u);
  // A file among the last that is no state makes no place for an older one.
  std::ofstream(FileOf(5)) << "no state";
  ASSERT_OK_AND_ASSIGN(const auto rest, ServingHistory(dir(), 2));
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].change(), 4u);
}

TEST_F(ServingStateTest, AnEditByHandJoinsTheHistoryOnlyWithTheNextChange) {
  EXPECT_OK(Pin(3));
  Write("pinned_version: 5 change: 1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(
        ChangeServing(dir(), {"r", "c"},
                      [](Serving*) { return absl::AbortedError("no"); }),
        StatusIs(StatusCode::kAborted));
  }
  EXPECT_THAT(History(), ElementsAre("1:3"));
}

TEST_F(ServingStateTest, AnOlderStatePutBackJoinsTheHistory) {
  EXPECT_OK(Pin(3));
  EXPECT_OK(Pin(4));
  std::filesystem::copy(FileOf(1), file(),
                        std::filesystem::copy_options::overwrite_existing);
  EXPECT_OK(Pin(5));
  EXPECT_THAT(History(), ElementsAre("1:3", "2:4", "3:3", "4:5"));
}

TEST_F(ServingStateTest, BadFilesAreNamedWithTheirPlaceAndReplaced) {
  EXPECT_OK(Pin(3));
  Write("pinned_version: 4\nlabls {}\n");
  EXPECT_THAT(ReadServing(dir()),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("SERVING.textproto"),
                             HasSubstr("line 2"), HasSubstr("labls"))));
  Write("explore_parts: 4");
  EXPECT_THAT(ReadServing(dir()),
              IsInvalidArgument("SERVING.textproto", "explore_parts = 4"));
  // The change is made to the newest state that can be read.
  EXPECT_OK(ChangeServing(dir(), {"r", "c"}, [](Serving* serving) {
    EXPECT_EQ(serving->pinned_version(), 3u);
    serving->set_mode(model::v1::OFF);
    return absl::OkStatus();
  }));
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.pinned_version(), 3u);
  EXPECT_THAT(History(), ElementsAre("1:3", "2:3"));
}

TEST_F(ServingStateTest, ABadFirstFileSaysWhatToDo) {
  Write("rubbish");
  EXPECT_THAT(Pin(1),
              StatusIs(StatusCode::kDataLoss, HasSubstr("mend or remove it")));
  std::filesystem::remove(file());
  EXPECT_OK(Pin(1));
}

TEST_F(ServingStateTest, AFileThatIsGoneDoesNotUnpin) {
  EXPECT_OK(Pin(3));
  std::filesystem::remove(file());
  EXPECT_THAT(ReadServing(dir()),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("is gone"), HasSubstr(FileOf(1)))));
  ASSERT_OK_AND_ASSIGN(const Serving changed,
                       ChangeServing(dir(), {"r", "c"}, [](Serving* serving) {
                         serving->set_mode(model::v1::OFF);
                         return absl::OkStatus();
                       }));
  EXPECT_EQ(changed.pinned_version(), 3u);
}

// As after a power cut between the two files, which the next change tells.
TEST_F(ServingStateTest, AChangeThatWasCutShortWasNotInForce) {
  EXPECT_OK(Pin(3));
  EXPECT_OK(Pin(4));
  std::filesystem::copy(FileOf(1), file(),
                        std::filesystem::copy_options::overwrite_existing);
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.pinned_version(), 3u);
}

TEST_F(ServingStateTest, AFullDiskLeavesTheOldState) {
  EXPECT_OK(Pin(3));
  for (const int skip : {0, 1}) {  // The history's file, SERVING.textproto.
    const FileFault fault({.call = FileCall::kWrite,
                           .path = dir(),
                           .error = ENOSPC,
                           .skip = skip,
                           .count = 1});
    EXPECT_THAT(Pin(4), StatusIs(StatusCode::kResourceExhausted));
    EXPECT_EQ(fault.num_failures(), 1);
    EXPECT_THAT(History(), ElementsAre("1:3"));
  }
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.pinned_version(), 3u);
  EXPECT_OK(Pin(4));
  EXPECT_THAT(History(), ElementsAre("1:3", "2:4"));
}

TEST_F(ServingStateTest, DamagedFilesOfTheHistoryAreLeftOut) {
  EXPECT_OK(Pin(3));
  EXPECT_OK(Pin(4));
  EXPECT_OK(Pin(5));
  std::ofstream(FileOf(2)) << "rubbish";
  std::ofstream(dir() + "/.serving/notes.txt") << "mine";
  EXPECT_THAT(History(), ElementsAre("1:3", "3:5"));
}

TEST_F(ServingStateTest, KeepsTheLastThousandStates) {
  // 999 old ones, made by hand.
  EXPECT_OK(Pin(1));
  for (uint64_t change = 2; change <= 999; ++change) {
    std::ofstream(FileOf(change)) << "change: " << change;
  }
  std::filesystem::copy(FileOf(999), file(),
                        std::filesystem::copy_options::overwrite_existing);
  EXPECT_OK(Pin(2));
  EXPECT_THAT(History(), SizeIs(1000));
  EXPECT_OK(Pin(3));
  EXPECT_THAT(History(), SizeIs(1000));
  EXPECT_EQ(History().front(), "2:0");
  EXPECT_EQ(History().back(), "1001:3");
}

TEST_F(ServingStateTest, WritersOnSeveralThreadsLoseNoChange) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int j = 0; j < 10; ++j) {
        EXPECT_OK(ChangeServing(dir(), {"r", "c"}, [](Serving* serving) {
          serving->set_pinned_version(serving->pinned_version() + 1);
          return absl::OkStatus();
        }));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.pinned_version(), 40u);
  EXPECT_EQ(read.change(), 40u);
  EXPECT_THAT(History(), SizeIs(40));
}

// As on a network file system whose locks hold on one machine only: the other
// machine makes its change while this one thinks.
TEST_F(ServingStateTest, WithoutLocksTheSecondOfTwoChangesFails) {
  EXPECT_OK(Pin(3));
  EXPECT_THAT(ChangeServing(dir(), {"r", "c"},
                            [&](Serving* serving) {
                              std::ofstream(FileOf(2)) << "change: 2";
                              serving->set_pinned_version(4);
                              return absl::OkStatus();
                            }),
              StatusIs(StatusCode::kAborted, HasSubstr("meanwhile")));
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.pinned_version(), 3u);
}

TEST_F(ServingStateTest, MakesTheDirectoryOfAModelWithoutVersions) {
  std::filesystem::remove(dir());
  EXPECT_OK(ChangeServing(dir(), {"r", "c"}, [](Serving* serving) {
    serving->set_mode(model::v1::APPRENTICE);
    return absl::OkStatus();
  }));
  ASSERT_OK_AND_ASSIGN(const Serving read, ReadServing(dir()));
  EXPECT_EQ(read.mode(), model::v1::APPRENTICE);
}

// What a state of serving may say.

Serving Parse(const std::string& text) {
  Serving serving;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &serving));
  return serving;
}

TEST(ValidateServingTest, NamesFieldValueAndRange) {
  const std::string salt = "salt: '0123456789abcdef0123456789abcdef'";
  const std::string arm = "arms { version: 2 ranges { begin: 0 end: 10 } } ";
  const std::string both =
      "interleave { version: 2 method: TEAM_DRAFT parts: 10 " + salt + " } ";
  const std::vector<std::pair<std::string, std::vector<const char*>>> cases = {
      {"labels { name: '.x' version: 1 }", {"labels.name", "\".x\""}},
      {"labels { name: 'a/b' version: 1 }", {"labels.name", "\"a/b\""}},
      {"labels { name: 'a' version: 1 } labels { name: 'a' version: 2 }",
       {"labels.name", "once"}},
      {"labels { name: 'a' }", {"labels.version = 0"}},
      {"split { arms { version: 2 } " + salt + " }",
       {"split.arms.ranges", "at least one"}},
      {"split { arms { version: 2 ranges { begin: 5 end: 5 } } " + salt + " }",
       {"[5, 5)", "10000"}},
      {"split { arms { version: 2 ranges { begin: 0 end: 10001 } } " + salt +
           " }",
       {"10001", "10000"}},
      {"split { " + arm + arm + salt + " }", {"split.arms.version = 2"}},
      {"split { " + arm + "arms { version: 3 ranges { begin: 9 end: 20 } } " +
           salt + " }",
       {"place 9", "two arms"}},
      {"split { " + arm + " }", {"split.salt", "32"}},
      {"split { " + arm + " salt: 'xyz' }", {"split.salt has 3", "32"}},
      {"shadows { version: 3 }", {"shadows of version 3", "every = 0"}},
      {"shadows { every: 1 }", {"shadows.version = 0"}},
      {"shadows { version: 3 every: 1 } shadows { version: 3 every: 2 }",
       {"shadows of version 3", "once"}},
      {"mode: 9", {"mode = 9", "ONLINE"}},
      {"mode: EXPLORE_ABOVE_BASELINE", {"explore_parts = 0", "[1, 10000]"}},
      {"mode: EXPLORE_ABOVE_BASELINE explore_parts: 10001",
       {"explore_parts = 10001"}},
      {"mode: ONLINE explore_parts: 1", {"explore_parts = 1", "unset"}},
      {"mode: OFF split { " + arm + salt + " }", {"mode = OFF", "no split"}},
      {"mode: SHADOW split { " + arm + salt + " }", {"mode = SHADOW"}},
      {"interleave { method: TEAM_DRAFT parts: 1 " + salt + " }",
       {"interleave.version = 0"}},
      {"interleave { version: 2 parts: 1 " + salt + " }",
       {"interleave.method = 0", "TEAM_DRAFT"}},
      {"interleave { version: 2 method: TEAM_DRAFT " + salt + " }",
       {"interleave.parts = 0", "[1, 10000]"}},
      {"interleave { version: 2 method: TEAM_DRAFT parts: 10001 " + salt + " }",
       {"interleave.parts = 10001"}},
      {"interleave { version: 2 method: TEAM_DRAFT parts: 1 }",
       {"interleave.salt is empty", "32"}},
      {"interleave { version: 2 method: TEAM_DRAFT parts: 1 salt: 'xyz' }",
       {"interleave.salt has 3", "32"}},
      {both + "pinned_version: 2",
       {"interleave beside pinned_version = 2", "itself"}},
      {both + "split { " + arm + salt + " }",
       {"interleave beside split.arms", "models interleave none"}},
      {both + "mode: APPRENTICE",
       {"interleave beside mode = APPRENTICE", "must be ONLINE"}},
      {both + "mode: EXPLORE_ABOVE_BASELINE explore_parts: 3",
       {"interleave beside mode = EXPLORE_ABOVE_BASELINE"}},
      {"protected_versions: 0", {"protected_versions = 0"}},
      {"reason: '\\377'", {"reason", "UTF-8"}},
      {"caller: '\\300'", {"caller", "UTF-8"}},
      {"change: 18446744073709551615", {"change = 18446744073709551615"}},
  };
  for (const auto& [text, words] : cases) {
    const absl::Status status = ValidateServing(Parse(text));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    for (const char* word : words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word)) << text;
    }
  }
}

TEST(ValidateServingTest, TakesEverythingAtOnce) {
  EXPECT_OK(ValidateServing(Serving()));
  const std::string all = R"(
      pinned_version: 7
      labels { name: 'stable' version: 7 } labels { name: 'x' version: 8 }
      split { arms { version: 8 ranges { begin: 0 end: 5000 } }
              arms { version: 9 ranges { begin: 5000 end: 10000 } }
              salt: '0123456789abcdef0123456789abcdef' }
      shadows { version: 6 every: 1 }
      mode: EXPLORE_ABOVE_BASELINE explore_parts: 10000
      protected_versions: 3)";
  EXPECT_OK(ValidateServing(Parse(all)));
  EXPECT_THAT(NamedVersions(Parse(all)), ElementsAre(6, 7, 8, 9));
  const std::string both = R"(
      pinned_version: 7
      interleave { version: 8 method: PROBABILISTIC parts: 10000
                   salt: '0123456789abcdef0123456789abcdef' }
      labels { name: 'x' version: 8 } shadows { version: 6 every: 1 })";
  EXPECT_OK(ValidateServing(Parse(both)));
  EXPECT_THAT(NamedVersions(Parse(both)), ElementsAre(6, 7, 8));
}

TEST(TextMessageTest, ReadsWhatPeopleWrite) {
  model::v1::Serving serving;
  EXPECT_OK(ParseTextMessage(
      "f", "a state", "# why\npinned_version: 3  # for now\n\n", &serving));
  EXPECT_EQ(serving.pinned_version(), 3u);
  EXPECT_OK(ParseTextMessage("f", "a state", "", &serving));
}

TEST(TextMessageTest, SaysWhereTheFirstErrorIsAndPrintsNothing) {
  testing::internal::CaptureStderr();
  model::v1::Serving serving;
  const absl::Status status = ParseTextMessage(
      "a/b", "a state", "change: 1\nmod: ONLINE\nrubbish: 4\n", &serving);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a/b is not a state: line 2, column"),
                             HasSubstr("\"mod\""), Not(HasSubstr("rubbish")))));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

TEST(TextMessageTest, ErrorsOfUsersAreTheirsAndNameTheNearestName) {
  model::v1::FeatureSpec spec;
  EXPECT_THAT(
      ParseUserMessage("f", "a FeatureSpec",
                       "schema {\n  column { names: 'price' }\n}", &spec),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("f is not a FeatureSpec: line 2, column"),
                     HasSubstr("Did you mean \"name\"?"))));
  EXPECT_THAT(ParseUserMessage("f", "a FeatureSpec",
                               "schema { column { type: NUMBR } }", &spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Did you mean \"NUMBER\"?")));
  // Nothing is near.
  EXPECT_THAT(
      ParseUserMessage("f", "a FeatureSpec", "rubbish: 1", &spec),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("rubbish"), Not(HasSubstr("Did you mean")))));
}

}  // namespace
}  // namespace sortition
