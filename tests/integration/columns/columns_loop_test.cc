// Named columns through all programs.
#include <signal.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "tests/integration/loop_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr char kSpec[] = R"(
schema {
  column { name: 'price' type: NUMBER }
  column { name: 'title' type: TEXT }
  column { name: 'search' type: TEXT scope: QUERY }
}
transform { number { column: 'price' standardise: true } }
transform { text_pair { query: 'search' candidate: 'title'
                        measure: [BM25, IDF_OVERLAP, TF_IDF_COSINE] } }
transform { ngrams { column: 'title' bits: 8 idf: true normalise: true } }
transform { cross { left: 'search' right: 'title' bits: 8 idf: true } }
)";
constexpr int kCandidates = 4;
constexpr const char* kWords[] = {"shoe", "hat", "coat", "glove", "scarf"};

class ColumnsLoopTest : public LoopFixture {
 protected:
  // A title is a word; the search is one of them. `higher` shifts prices.
  v1::Columns Columns(double higher) {
    v1::Columns columns;
    columns.set_num_candidates(kCandidates);
    v1::Column& price = *columns.add_candidate();
    price.set_name("price");
    v1::Column& title = *columns.add_candidate();
    title.set_name("title");
    v1::Column& search = *columns.add_query();
    search.set_name("search");
    for (int i = 0; i < kCandidates; ++i) {
      price.mutable_numbers()->add_values(20 + 5 * random_.Normal() + higher);
      title.mutable_texts()->add_values(Word());
    }
    search.mutable_texts()->add_values(Word());
    return columns;
  }

  std::string Word() { return kWords[random_.Below(std::size(kWords))]; }

  // Users are pleased by what they searched for. Returns how many were.
  int Serve(int decisions, double higher) {
    int pleased = 0;
    for (int i = 0; i < decisions; ++i) {
      v1::SelectRequest request;
      *request.mutable_context()->mutable_candidates()->mutable_columns() =
          Columns(higher);
      const v1::Columns& columns = request.context().candidates().columns();
      const auto answer = client_->Select(request);
      EXPECT_OK(answer);
      if (!answer.ok()) return 0;
      const auto chosen = static_cast<int>(answer->selected());
      const bool is_right = columns.candidate(1).texts().values(chosen) ==
                            columns.query(0).texts().values(0);
      pleased += is_right ? 1 : 0;
      v1::ReportFeedbackRequest report;
      v1::Feedback& feedback = *report.add_feedback();
      feedback.set_feedback_id(absl::StrCat("f-", ++num_feedback_));
      feedback.set_decision_id(answer->result().decision_id());
      feedback.set_reward(is_right ? 1 : 0);
      EXPECT_OK(client_->ReportFeedback(report));
    }
    return pleased;
  }

  void WaitForTuples(size_t tuples) {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto ids = TupleIds(deployment_.tuples());
      return ids.ok() && ids->size() >= tuples;
    }));
  }

  RandomSequence random_{SeedKey(1)};
  std::unique_ptr<Client> client_;
  int num_feedback_ = 0;
};

TEST_F(ColumnsLoopTest, ServesLogsLearnsAndNamesWhatMoved) {
  constexpr int kDecisions = 1500;
  ASSERT_OK(deployment_.StartServer({"--poll_seconds=0.05",
                                     "--spool.segment_bytes=262144",
                                     "--spool.segment_seconds=0.3"}));
  ASSERT_OK(deployment_.StartSidecar({JoinWindow(2)}));
  ASSERT_OK_AND_ASSIGN(client_, Client::Connect(deployment_.address()));
  const int before = Serve(kDecisions, 0);
  WaitForTuples(kDecisions);

  const std::string spec = deployment_.path("features.textproto");
  std::ofstream(spec) << kSpec;
  Run({"sortition-trainer", "train", "--tuples=" + deployment_.tuples(),
       StoreFlag(), "--features=" + spec});
  ExpectServed(1);
  EXPECT_THAT(
      Run({"sortition", "models", "list", "--server=" + deployment_.address()})
          .stdout_text,
      HasSubstr("3 columns"));
  const int after = Serve(kDecisions, 0);
  EXPECT_GT(after, before + kDecisions / 10);
  ASSERT_OK_AND_ASSIGN(std::string metrics, deployment_.ServerMetrics());
  EXPECT_THAT(metrics, HasSubstr("sortition_drift{kind=\"column\""));

  // Prices double: the column and its feature are named, and nothing else.
  Serve(kDecisions, 20);
  ASSERT_OK_AND_ASSIGN(metrics, deployment_.ServerMetrics());
  const auto drift_of = [&](const std::string& labels) {
    const size_t place = metrics.find("sortition_drift{" + labels);
    EXPECT_NE(place, std::string::npos) << labels;
    if (place == std::string::npos) return 0.0;
    return std::stod(metrics.substr(metrics.find("} ", place) + 2));
  };
  EXPECT_GT(drift_of("kind=\"column\",model=\"default\",name=\"price\""), 0.25);
  EXPECT_LT(drift_of("kind=\"column\",model=\"default\",name=\"title\""), 0.1);
  EXPECT_LT(drift_of("kind=\"column\",model=\"default\",name=\"search\""), 0.1);

  // A column that the version requires may not be renamed.
  v1::SelectRequest renamed;
  *renamed.mutable_context()->mutable_candidates()->mutable_columns() =
      Columns(0);
  renamed.mutable_context()
      ->mutable_candidates()
      ->mutable_columns()
      ->mutable_candidate(0)
      ->set_name("prize");
  EXPECT_THAT(client_->Select(renamed),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("column 'price' is absent"),
                             HasSubstr("does not read 'prize'"))));

  WaitForTuples(3 * kDecisions);
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
  EXPECT_THAT(
      Run({"sortition", "log", "verify", deployment_.tuples(), StoreFlag()})
          .stdout_text,
      HasSubstr(absl::StrCat(3 * kDecisions)));
  // The next model is judged by what the policies of the store would do.
  Run({"sortition-trainer", "ope", "--tuples=" + deployment_.tuples(),
       StoreFlag(), "--policies=uniform,newest"});
}

}  // namespace
}  // namespace sortition
