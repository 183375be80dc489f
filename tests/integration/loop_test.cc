// The whole loop with the real programs: fit, serve and log, join, train, swap,
// serve again, verify.
#include <grpcpp/client_context.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "io/segments/segment_writer.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kLoopDecisions = 3000;

class LoopTest : public testing::Test {
 protected:
  // Runs the program to its end and expects exit code 0.
  void RunWell(const std::vector<std::string>& words) {
    std::vector<std::string> arguments = words;
    arguments[0] = BinaryPath(words[0]);
    ASSERT_OK_AND_ASSIGN(const FinishedProcess run, RunToEnd(arguments));
    ASSERT_EQ(run.exit_code, 0) << words[0] << " " << words[1] << "\n"
                                << run.stdout_text << run.stderr_text;
  }

  std::vector<std::string> Simulate(int decisions, uint64_t seed) const {
    return {"sortition",
            "simulate",
            absl::StrCat("--server=", deployment_.address()),
            "--data=" + deployment_.path("world.letor"),
            absl::StrCat("--decisions=", decisions),
            absl::StrCat("--seed=", seed)};
  }

  void ExpectTuples(size_t count) {
    std::vector<std::string> ids;
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      absl::StatusOr<std::vector<std::string>> now =
          TupleIds(deployment_.tuples());
      if (now.ok()) ids = *std::move(now);
      return ids.size() >= count;
    }));
    EXPECT_EQ(ids.size(), count);
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), count);
  }

  uint64_t ServedVersion() {
    const auto stub = v1::Models::NewStub(deployment_.NewChannel());
    grpc::ClientContext context;
    v1::ListModelsResponse response;
    const grpc::Status status =
        stub->ListModels(&context, v1::ListModelsRequest(), &response);
    return status.ok() && response.models_size() == 1
               ? response.models(0).version()
               : 0;
  }

  Deployment deployment_;
};

// Copies the segments of `from` to `to`, with the log-propensity of the first
// tuple of the newest model version changed to the next larger double. Returns
// its decision id.
absl::StatusOr<std::string> CopyWithOneChange(const std::string& from,
                                              const std::string& to) {
  std::filesystem::create_directory(to);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(from));
  std::string changed_id;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::unique_ptr<SegmentReader> reader,
                     SegmentReader::Open(absl::StrCat(from, "/", name)));
    std::unique_ptr<SegmentWriter> writer;
    absl::string_view payload;
    uint64_t offset = 0;
    while (true) {
      ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                       reader->Next(&payload, &offset));
      if (outcome != SegmentReader::Outcome::kRecord) break;
      log::v1::LogRecord record;
      record.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
      if (record.has_header()) {
        ASSIGN_OR_RETURN(writer,
                         SegmentWriter::Create({.dir = to,
                                                .name = name,
                                                .preallocate_bytes = 65536,
                                                .header = record.header()}));
        continue;
      }
      if (record.has_footer()) break;
      if (changed_id.empty() && record.has_tuple() &&
          record.tuple().decision().version() == 2) {
        log::v1::Decision* const decision =
            record.mutable_tuple()->mutable_decision();
        decision->set_log_propensity(
            std::nextafter(decision->log_propensity(),
                           std::numeric_limits<double>::infinity()));
        changed_id = decision->decision_id();
      }
      RETURN_IF_ERROR(writer->Append(record));
    }
    RETURN_IF_ERROR(writer->Close());
  }
  return changed_id;
}

TEST_F(LoopTest, ServesLogsLearnsSwapsAndVerifies) {
  RunWell({"sortition", "world", "--queries=400",
           "--output=" + deployment_.path("world.letor")});
  RunWell({"sortition-trainer", "fit", "--draw_salt=" + std::string(32, '0'),
           "--data=" + deployment_.path("world.letor"),
           "--model_store=" + deployment_.models()});
  ASSERT_OK(deployment_.StartServer(
      {"--poll_seconds=0.05", "--spool.segment_seconds=0.5"}));
  ASSERT_OK(deployment_.StartSidecar({JoinWindow(1), "--segment_seconds=0.5"}));
  ASSERT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return ServedVersion() == 1; }));

  RunWell(Simulate(kLoopDecisions, 1));
  ExpectTuples(kLoopDecisions);
  int with_feedback = 0;
  ASSERT_OK(VisitRecords(deployment_.tuples(), false, [&](const auto& record) {
    if (record.tuple().has_feedback()) ++with_feedback;
  }));
  EXPECT_EQ(with_feedback, kLoopDecisions);

  RunWell({"sortition-trainer", "train", "--tuples=" + deployment_.tuples(),
           "--model_store=" + deployment_.models(), "--force"});
  EXPECT_OK(deployment_.store().LoadEvaluation("default", 2));
  ASSERT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return ServedVersion() == 2; }));
  RunWell(Simulate(200, 2));
  ExpectTuples(kLoopDecisions + 200);

  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
  std::set<uint64_t> versions;
  ASSERT_OK(VisitRecords(deployment_.tuples(), true, [&](const auto& record) {
    if (record.has_tuple()) {
      versions.insert(record.tuple().decision().version());
    }
  }));
  EXPECT_EQ(versions, (std::set<uint64_t>{1, 2}));

  RunWell({"sortition", "log", "verify", deployment_.tuples(),
           "--model_store=" + deployment_.models()});
  ASSERT_OK_AND_ASSIGN(
      const std::string changed_id,
      CopyWithOneChange(deployment_.tuples(), deployment_.path("changed")));
  ASSERT_FALSE(changed_id.empty());
  ASSERT_OK_AND_ASSIGN(const FinishedProcess verify,
                       RunToEnd({BinaryPath("sortition"), "log", "verify",
                                 deployment_.path("changed"),
                                 "--model_store=" + deployment_.models()}));
  EXPECT_EQ(verify.exit_code, 1);
  EXPECT_THAT(verify.stdout_text + verify.stderr_text,
              AllOf(HasSubstr(changed_id), HasSubstr("log_propensity")));
}

}  // namespace
}  // namespace sortition
