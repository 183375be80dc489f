// `log verify` over whole logs.
#include <cmath>
#include <sstream>

#include "client/logs/log_commands.h"
#include "tests/client/logs/log_verify_fixture.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using LogVerifyCommandTest = LogVerifyTest;

TEST_F(LogVerifyCommandTest, CommandCountsWhatItVerified) {
  ASSERT_OK(Write("1", 1,
                  {Spool(Decide(select_, false, "a")),
                   Tuple(Decide(rank_, true, "b"), 1), Feedback("f", "a", 1)})
                ->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  config::v1::LogOptions options;
  options.set_model_store(store());
  EXPECT_OK(RunLogVerify(options, {log()}, &output));
  EXPECT_THAT(out.str(), HasSubstr("2 decisions verified bit for bit, 0 diff"));
}

TEST_F(LogVerifyCommandTest, CommandNamesTheFirstRecordThatDiffers) {
  log::v1::Decision changed = Decide(select_, false, "changed");
  changed.set_log_propensity(std::nextafter(changed.log_propensity(), 0));
  auto writer = Write("1", 1, {Spool(Decide(select_, false, "a"))});
  const uint64_t offset = writer->bytes();
  ASSERT_OK(writer->Append(Tuple(changed, 1)));
  ASSERT_OK(writer->Append(Tuple(changed, 1)));
  ASSERT_OK(writer->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  config::v1::LogOptions options;
  options.set_model_store(store());
  options.set_output("json");
  EXPECT_THAT(
      RunLogVerify(options, {log()}, &output),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(log() + "/1.seg offset " +
                               std::to_string(offset) + " decision changed: "),
                     HasSubstr("log_propensity: expected"))));
  EXPECT_THAT(out.str(), AllOf(HasSubstr("\"verified\":1,\"different\":2"),
                               HasSubstr("\"decision_id\":\"changed\"")));
}

TEST_F(LogVerifyCommandTest, MissingModelsAreErrorsNotSkipped) {
  model::v1::Model gone = select_;
  log::v1::Decision decision = Decide(gone, false, "a");
  decision.set_version(99);
  ASSERT_OK(Write("1", 1, {Spool(decision)})->Close());
  DecisionVerifier with_store{ModelStore(store())};
  EXPECT_THAT(VerifyLog({log()}, &with_store).status().message(),
              HasSubstr("decision a: "));
  DecisionVerifier without{std::nullopt};
  EXPECT_THAT(
      VerifyLog({log()}, &without),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--model_store")));
}

TEST_F(LogVerifyCommandTest, SaysThatLabelsAreNotVerified) {
  log::v1::Decision labels = Decide(uniform_, false, "labels");
  labels.set_action_kind(log::v1::LABELS);
  ASSERT_OK(Write("1", 1,
                  {Tuple(Decide(select_, false, "a"), 1), Tuple(labels, 1),
                   Tuple(labels, 1)})
                ->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  config::v1::LogOptions options;
  options.set_model_store(store());
  EXPECT_THAT(
      RunLogVerify(options, {log()}, &output),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("2 decisions chose labels and were not verified")));
  EXPECT_THAT(out.str(),
              AllOf(HasSubstr("1 decisions verified"), HasSubstr("0 different"),
                    HasSubstr("2 of labels left out")));
}

// Nothing is wrong with an imported log, and nothing can be recomputed.
TEST_F(LogVerifyCommandTest, SaysThatImportedDecisionsAreOfNoPolicyHere) {
  log::v1::Decision other = Decide(uniform_, false, "other");
  other.set_log_propensity(-0.125);
  log::v1::Decision unknown = Decide(select_, false, "unknown");
  unknown.set_version(99);
  const auto write = [&](const std::string& options) {
    SegmentWriter::Options segment;
    segment.dir = log();
    segment.name = options.empty() ? "1.seg" : "2.seg";
    segment.header.set_format_version(1);
    segment.header.set_kind(log::v1::SegmentHeader::TUPLES);
    segment.preallocate_bytes = 65536;
    segment.header.set_incarnation("i");
    segment.header.set_writer_id("import");
    segment.header.set_first_sequence(1);
    segment.header.set_options(options);
    auto writer = SegmentWriter::Create(segment);
    ASSERT_OK(writer);
    for (const log::v1::Decision& decision :
         {other, unknown, Decide(uniform_, false, "ours")}) {
      ASSERT_OK((*writer)->Append(Tuple(decision, 1)));
    }
    ASSERT_OK((*writer)->Close());
  };
  write("format: \"csv\" columns: \"p=prob\"");
  std::ostringstream out, error;
  CommandOutput output{out, error};
  EXPECT_OK(RunLogVerify({}, {log()}, &output));
  EXPECT_THAT(out.str(),
              AllOf(HasSubstr("1 decisions verified"), HasSubstr("0 different"),
                    HasSubstr("2 not a Sortition policy (imported)")));
  out.str("");
  config::v1::LogOptions options;
  options.set_output("json");
  EXPECT_OK(RunLogVerify(options, {log()}, &output));
  EXPECT_THAT(out.str(), HasSubstr("\"imported\":2"));
  // What a sidecar wrote beside it is verified as ever.
  write("");
  options.set_model_store(store());
  const absl::Status status = RunLogVerify(options, {log()}, &output);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.seg"));
}

TEST_F(LogVerifyCommandTest, AnEmptyLogVerifiesNothing) {
  ASSERT_OK(Write("1", 1, {})->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  EXPECT_THAT(
      RunLogVerify({}, {log()}, &output),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no decisions")));
}

}  // namespace
}  // namespace sortition
