#include "tests/integration/deployment.h"

#include <grpcpp/create_channel.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"

namespace sortition {
namespace {

// Starts `arguments` with --port_file and waits until each of `names` has a
// port.
absl::StatusOr<std::unique_ptr<ChildProcess>> StartServing(
    std::vector<std::string> arguments, const std::string& output_prefix,
    const std::vector<std::pair<std::string, int*>>& ports) {
  const std::string port_file = absl::StrCat(output_prefix, ".ports");
  std::filesystem::remove(port_file);
  arguments.push_back(absl::StrCat("--port_file=", port_file));
  ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child,
                   ChildProcess::Start(arguments, output_prefix));
  for (const auto& [name, port] : ports) {
    ASSIGN_OR_RETURN(*port,
                     child->WaitForPort(port_file, name, kPatienceSeconds));
  }
  return child;
}

absl::Status VisitSegment(
    const std::string& path, bool closed,
    const std::function<void(const log::v1::LogRecord&)>& visit) {
  absl::StatusOr<std::unique_ptr<SegmentReader>> reader =
      SegmentReader::Open(path);
  if (!reader.ok()) {
    return absl::IsNotFound(reader.status()) && !closed ? absl::OkStatus()
                                                        : reader.status();
  }
  bool has_footer = false;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     (*reader)->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kEnd) break;
    if (outcome == SegmentReader::Outcome::kIncomplete && !closed) break;
    log::v1::LogRecord record;
    if (outcome != SegmentReader::Outcome::kRecord ||
        !record.ParseFromArray(payload.data(),
                               static_cast<int>(payload.size()))) {
      return absl::DataLossError(
          absl::StrCat(path, ": no whole record at offset ", offset));
    }
    has_footer = record.has_footer();
    visit(record);
  }
  if (closed && !has_footer) {
    return absl::DataLossError(absl::StrCat(path, ": no footer"));
  }
  return absl::OkStatus();
}

model::v1::Model ModelWithWeights(uint32_t num_features, double scale) {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(num_features);
  for (uint32_t j = 0; j < num_features; ++j) {
    model.add_weights(scale * (j + 1));
  }
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(0.1);
  return model;
}

}  // namespace

Deployment::Deployment() { std::filesystem::create_directory(models()); }

std::string Deployment::path(absl::string_view name) const {
  return absl::StrCat(directory_.path(), "/", name);
}

std::string Deployment::address() const {
  return absl::StrCat("127.0.0.1:", rpc_port_);
}

std::shared_ptr<grpc::Channel> Deployment::NewChannel() const {
  return grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
}

absl::Status Deployment::StartServer(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {
      BinaryPath("sortition-server"), "--listen=127.0.0.1:0",
      // A busy machine makes calls wait. Tests of overload set these again.
      "--admission.max_wait_seconds=60", "--admission.target_wait_seconds=60",
      "--admission.max_long_wait_seconds=600", "--metrics_listen=127.0.0.1:0",
      "--http.listen=127.0.0.1:0", absl::StrCat("--model_store=", models()),
      absl::StrCat("--spool.dir=", spool())};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  ASSIGN_OR_RETURN(server_, StartServing(arguments, path("server"),
                                         {{"rpc", &rpc_port_},
                                          {"metrics", &metrics_port_},
                                          {"http", &http_port_}}));
  return absl::OkStatus();
}

absl::Status Deployment::StartSidecar(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {
      BinaryPath("sortition-sidecar"), absl::StrCat("--spool=", spool()),
      absl::StrCat("--tuples=", tuples()), "--metrics_listen=127.0.0.1:0",
      "--http_listen=127.0.0.1:0"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  ASSIGN_OR_RETURN(sidecar_,
                   StartServing(arguments, path("sidecar"),
                                {{"metrics", &sidecar_metrics_port_}}));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Deployment::ServerMetrics() const {
  return FetchMetrics(metrics_port_);
}

absl::StatusOr<std::string> Deployment::SidecarMetrics() const {
  return FetchMetrics(sidecar_metrics_port_);
}

model::v1::Model SelectionModel(uint32_t num_features, double scale) {
  model::v1::Model model = ModelWithWeights(num_features, scale);
  model.mutable_policy()->mutable_softmax_selection();
  return model;
}

model::v1::Model RankingModel(uint32_t num_features, double scale) {
  model::v1::Model model = ModelWithWeights(num_features, scale);
  model.mutable_policy()->mutable_plackett_luce();
  return model;
}

absl::Status VisitRecords(
    const std::string& dir, bool closed,
    const std::function<void(const log::v1::LogRecord&)>& visit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(VisitSegment(absl::StrCat(dir, "/", name), closed, visit));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> TupleIds(const std::string& dir) {
  std::vector<std::string> ids;
  RETURN_IF_ERROR(VisitRecords(dir, false, [&](const auto& record) {
    if (record.has_tuple()) {
      ids.push_back(record.tuple().decision().decision_id());
    }
  }));
  return ids;
}

absl::StatusOr<std::vector<std::string>> SpoolDecisionIds(
    const std::string& dir) {
  std::vector<std::string> ids;
  RETURN_IF_ERROR(VisitRecords(dir, false, [&](const auto& record) {
    if (record.has_decision()) ids.push_back(record.decision().decision_id());
  }));
  return ids;
}

}  // namespace sortition
