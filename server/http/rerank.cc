#include "server/http/rerank.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "process/http/http_errors.h"
#include "process/json_writer.h"
#include "server/http/json/json_names.h"
#include "server/http/json_calls.h"
#include "server/http/local_call.h"
#include "sortition/v1/http.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {
namespace {

constexpr RerankPath kRerankPaths[] = {
    {"/rerank", ""}, {"/v1/rerank", "1"}, {"/v2/rerank", "2"}};
constexpr char kRankMethod[] = "/sortition.v1.Ranking/Rank";
constexpr char kUnitIdHeader[] = "X-Sortition-Unit-Id";

// A request, and what Rank is asked for it.
struct Rerank {
  v1::RerankRequest request;
  const JsonValue* documents = nullptr;  // Views the body.
  std::string documents_key;             // As the body spells the field.
  BodyNames names;
  v1::RankRequest rank;
};

absl::Status SetTwice(absl::string_view one, absl::string_view other) {
  return absl::InvalidArgumentError(
      absl::StrCat("fields \"", one, "\" and \"", other,
                   "\" are both there: only one of them may be"));
}

// Finds the documents among the parts of the body that may be any JSON.
absl::StatusOr<UntypedJson> FindDocuments(const JsonMessageParser& parser) {
  UntypedJson found;
  for (const UntypedJson& part : parser.untyped()) {
    if (part.field->name() != "documents" && part.field->name() != "texts") {
      continue;
    }
    if (found.value != nullptr) return SetTwice(found.key, part.key);
    found = part;
  }
  if (found.value == nullptr) {
    return absl::InvalidArgumentError(
        "documents is absent: must be a list of texts or of objects");
  }
  if (found.value->Empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        found.key, " is an empty list: must have at least one entry"));
  }
  return found;
}

// An id in a field of the body, or else in a header.
struct IdSource {
  absl::string_view field;
  std::string value;
  absl::string_view header;
};

// Sets the id `name` of the context, unless `sortition` has set it.
absl::Status SetId(const HttpRequest& http, absl::string_view name,
                   const IdSource& source, std::string* id, BodyNames* names) {
  if (!source.value.empty() && !id->empty()) {
    return SetTwice(source.field, absl::StrCat("sortition.", name));
  }
  if (!id->empty()) return absl::OkStatus();
  const bool is_in_body = !source.value.empty();
  *id = is_in_body ? source.value : http.header(std::string(source.header));
  names->emplace_back(absl::StrCat("context.", name),
                      is_in_body
                          ? std::string(source.field)
                          : absl::StrCat("header \"", source.header, "\""));
  return absl::OkStatus();
}

absl::Status SetContext(const HttpRequest& http,
                        const v1::RerankRequest& request, Rerank* rerank) {
  v1::DecisionContext* const context = rerank->rank.mutable_context();
  *context = request.sortition();
  if (context->has_candidates())
    return SetTwice("sortition.candidates", "documents");
  if (!context->model().empty()) return SetTwice("sortition.model", "model");
  if (!request.unit_id().empty() && !request.user().empty()) {
    return SetTwice("unit_id", "user");
  }
  RETURN_IF_ERROR(
      SetId(http, "decision_id",
            {"decision_id", request.decision_id(), kDecisionIdHeader},
            context->mutable_decision_id(), &rerank->names));
  const bool is_user = !request.user().empty();
  return SetId(http, "unit_id",
               {is_user ? "user" : "unit_id",
                is_user ? request.user() : request.unit_id(), kUnitIdHeader},
               context->mutable_unit_id(), &rerank->names);
}

// The order in which the documents came is what the caller would show.
void SetGivenOrder(uint32_t n, v1::DecisionContext* context) {
  if (context->has_baseline()) return;
  v1::Baseline* const baseline = context->mutable_baseline();
  const auto& eligible = context->eligible();
  for (uint32_t i = 0; i < n; ++i) {
    const auto index = static_cast<int>(i);
    if (index >= eligible.size() || eligible[index]) baseline->add_action(i);
  }
}

// The query of the request is the column of this name.
absl::Status CheckNoQueryField(const JsonValue& documents, JsonPath* path) {
  for (rapidjson::SizeType i = 0; i < documents.Size(); ++i) {
    if (!documents[i].IsObject() || !documents[i].HasMember("query")) continue;
    const JsonPath::Scope scope(path, i);
    return absl::InvalidArgumentError(absl::StrCat(
        "field \"", path->TextOfField("query"),
        "\" must have another name: \"query\" is the query of the request"));
  }
  return absl::OkStatus();
}

absl::Status SetColumns(const UntypedJson& documents,
                        const FindColumnTypes& find_types, Rerank* rerank) {
  v1::DecisionContext* const context = rerank->rank.mutable_context();
  std::optional<ColumnTypes> types = find_types(rerank->request.model());
  if (types.has_value()) {
    context->set_model(rerank->request.model());
  } else {
    types = find_types("");
  }
  v1::Columns* const columns = context->mutable_candidates()->mutable_columns();
  JsonPath path;
  const JsonPath::Scope scope(&path, documents.key);
  RETURN_IF_ERROR(CheckNoQueryField(*documents.value, &path));
  RETURN_IF_ERROR(
      AddRows(*documents.value, types.value_or(ColumnTypes()), &path, columns));
  v1::Column* const query = columns->add_query();
  query->set_name("query");
  query->mutable_texts()->add_values(rerank->request.query());
  return absl::OkStatus();
}

absl::Status ReadRerank(const HttpRequest& http, const JsonValue& body,
                        const FindColumnTypes& find_types, Rerank* rerank) {
  v1::RerankRequest& request = rerank->request;
  JsonMessageParser parser(&find_types);
  RETURN_IF_ERROR(parser.Parse(body, &request));
  if (!request.has_query()) {
    return absl::InvalidArgumentError(
        "query is absent: must be the text that the documents are ranked for");
  }
  ASSIGN_OR_RETURN(const UntypedJson documents, FindDocuments(parser));
  rerank->documents = documents.value;
  rerank->documents_key = documents.key;
  rerank->names = parser.names();
  const uint32_t n = documents.value->Size();
  RETURN_IF_ERROR(SetContext(http, request, rerank));
  RETURN_IF_ERROR(SetColumns(documents, find_types, rerank));
  SetGivenOrder(n, rerank->rank.mutable_context());
  if (!request.has_top_n()) return absl::OkStatus();
  if (request.top_n() < 1) {
    return absl::InvalidArgumentError(
        "top_n = 0: must be at least 1, or absent for all documents");
  }
  rerank->rank.set_top_k(std::min(request.top_n(), n));
  return absl::OkStatus();
}

// Returns an error of Rank in the words of the body.
grpc::Status RankErrorInWordsOfBody(const Rerank& rerank,
                                    const grpc::Status& status) {
  BodyNames names = rerank.names;
  const std::string& documents = rerank.documents_key;
  names.emplace_back("context.candidates.columns: column '",
                     documents + ": field '");
  names.emplace_back("context.candidates.columns", documents);
  names.emplace_back("top_k", "top_n");
  names.emplace_back("context.model", "model");
  names.emplace_back("context.", "sortition.");
  return grpc::Status(status.error_code(),
                      InWordsOfBody(names, status.error_message()));
}

// Returns the score at a rank of an order of n documents. The order is drawn,
// so that scores of the model would not descend.
double ScoreAt(int rank, uint32_t n) {
  return static_cast<double>(n - static_cast<uint32_t>(rank)) / n;
}

// Writes the document as Cohere returns it: texts are objects, too.
void WriteDocument(const JsonValue& document, JsonWriter* json) {
  if (document.IsString()) {
    json->BeginObject().Key("text").String(TextOf(document)).EndObject();
  } else {
    json->Raw(JsonText(document));
  }
}

absl::Status WriteResults(const Rerank& rerank, absl::string_view api_version,
                          const v1::RankResponse& response, JsonWriter* json) {
  ASSIGN_OR_RETURN(const std::string result,
                   PrintJson(v1::DecisionResult::descriptor(),
                             response.result().SerializeAsString()));
  const JsonValue& documents = *rerank.documents;
  json->BeginObject().Key("id").String(response.result().decision_id());
  json->Key("model").String(response.result().model().name());
  json->Key("results").BeginArray();
  for (int rank = 0; rank < response.order_size(); ++rank) {
    const uint32_t index = response.order(rank);
    json->BeginObject().Key("index").Count(index);
    json->Key("relevance_score").Number(ScoreAt(rank, documents.Size()));
    if (rerank.request.return_documents() || rerank.request.return_text()) {
      json->Key("document");
      WriteDocument(documents[index], json);
    }
    json->EndObject();
  }
  json->EndArray().Key("meta").BeginObject();
  json->Key("api_version").BeginObject();
  json->Key("version").String(api_version).EndObject();
  json->Key("billed_units").BeginObject();
  json->Key("search_units").Count(0).EndObject().EndObject();
  json->Key("sortition")
      .Raw(absl::StripTrailingAsciiWhitespace(result))
      .EndObject();
  return absl::OkStatus();
}

// Writes the bare list of text-embeddings-inference.
void WriteList(const Rerank& rerank, const v1::RankResponse& response,
               JsonWriter* json) {
  const JsonValue& documents = *rerank.documents;
  json->BeginArray();
  for (int rank = 0; rank < response.order_size(); ++rank) {
    const JsonValue& document = documents[response.order(rank)];
    json->BeginObject().Key("index").Count(response.order(rank));
    json->Key("score").Number(ScoreAt(rank, documents.Size()));
    const bool has_text = document.IsString() || (document.HasMember("text") &&
                                                  document["text"].IsString());
    if ((rerank.request.return_text() || rerank.request.return_documents()) &&
        has_text) {
      json->Key("text").String(
          TextOf(document.IsString() ? document : document["text"]));
    }
    json->EndObject();
  }
  json->EndArray();
}

HttpAnswer SuccessOf(const RerankPath& path, const Rerank& rerank,
                     const v1::RankResponse& response) {
  JsonWriter json;
  if (path.api_version.empty()) {
    WriteList(rerank, response, &json);
  } else if (const absl::Status status =
                 WriteResults(rerank, path.api_version, response, &json);
             !status.ok()) {
    return ErrorAnswer(status);
  }
  HttpAnswer answer = {.content_type = "application/json",
                       .body = json.text() + "\n"};
  const std::string& id = response.result().decision_id();
  if (std::all_of(id.begin(), id.end(), absl::ascii_isprint)) {
    answer.headers.emplace_back(kDecisionIdHeader, id);
  }
  return answer;
}

HttpAnswer AnswerRerank(const RerankPath& path, const HttpRequest& http,
                        const FindColumnTypes& find_types,
                        grpc::GenericStub* stub) {
  if (absl::StripAsciiWhitespace(http.body).empty()) {
    return AnswerWithoutBody(http, kRankMethod,
                             SuchAs(*v1::RerankRequest::descriptor()), stub);
  }
  rapidjson::Document body;
  if (const absl::Status status = ParseJsonTree(http.body, &body);
      !status.ok()) {
    return ErrorAnswer(status);
  }
  Rerank rerank;
  if (const absl::Status status = ReadRerank(http, body, find_types, &rerank);
      !status.ok()) {
    return ErrorAnswer(status);
  }
  const auto call = LocalCall::Start(http, kRankMethod, kRerankSeconds,
                                     rerank.rank.SerializeAsString(), stub);
  if (!call.ok()) return ErrorAnswer(call.status());
  const grpc::Status status = (*call)->Finish();
  if (!status.ok())
    return (*call)->Failure(RankErrorInWordsOfBody(rerank, status));
  v1::RankResponse response;
  CHECK(response.ParseFromString((*call)->Response()));
  return SuccessOf(path, rerank, response);
}

}  // namespace

std::span<const RerankPath> RerankPaths() { return kRerankPaths; }

const RerankPath* FindRerankPath(absl::string_view path) {
  const auto* const found =
      std::find_if(std::begin(kRerankPaths), std::end(kRerankPaths),
                   [&](const RerankPath& each) { return each.path == path; });
  return found == std::end(kRerankPaths) ? nullptr : found;
}

HttpHandler MakeRerank(const RerankPath& path,
                       std::shared_ptr<grpc::GenericStub> stub,
                       FindColumnTypes find_types) {
  return [path, stub = std::move(stub),
          find_types = std::move(find_types)](const HttpRequest& http) {
    return AnswerRerank(path, http, find_types, stub.get());
  };
}

}  // namespace sortition
