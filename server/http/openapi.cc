#include "server/http/openapi.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/base/check.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "process/json_writer.h"
#include "process/version.h"
#include "server/http/api_descriptors.h"
#include "server/http/batch.h"
#include "server/http/field_limits.h"
#include "server/http/json_calls.h"
#include "server/http/local_call.h"
#include "server/http/rerank.h"
#include "sortition/model/v1/field_range.pb.h"

namespace sortition {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Of a page: its path, what it is, and the type of its content.
constexpr const char* kPages[][3] = {
    {"/healthz", "Says that the process lives.", "application/json"},
    {"/livez",
     "Says whether the threads that answer calls do so: what the gRPC health "
     "of sortition.v1.Models says. 503: they have not for two seconds, and a "
     "liveness probe should end the process if this goes on.",
     "application/json"},
    {"/metrics", "Returns the metrics for Prometheus.", "text/plain"},
    {"/openapi.json", "Returns this document.", "application/json"},
    {"/readyz",
     "Says whether the server should be asked: what the gRPC health of "
     "sortition.v1.Ranking says. 503: it should not, and why.",
     "application/json"},
    {"/status.json", "Returns what the page at / shows.", "application/json"},
};

// Returns the comment before and behind a declaration as one text.
template <typename Declaration>
std::string CommentOf(const Declaration* declaration) {
  google::protobuf::SourceLocation location;
  if (!declaration->GetSourceLocation(&location)) return "";
  std::string text =
      absl::StrCat(location.leading_comments, " ", location.trailing_comments);
  text = absl::StrReplaceAll(text, {{"\n", " "}});
  while (absl::StrContains(text, "  ")) {
    text = absl::StrReplaceAll(text, {{"  ", " "}});
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

// "v1.RankRequest": the name of a schema.
std::string SchemaName(const Descriptor* message) {
  return std::string(absl::StripPrefix(message->full_name(), "sortition."));
}

std::string Reference(const std::string& name) {
  return absl::StrCat("#/components/schemas/", name);
}

class Document {
 public:
  explicit Document(const config::v1::RequestLimits& limits)
      : limits_(RequestFieldLimits(limits)) {
    google::protobuf::FileDescriptorSet files;
    CHECK(files.ParseFromString(ApiDescriptors()));
    for (const auto& file : files.file()) {
      CHECK(pool_.BuildFile(file) != nullptr);
    }
  }

  std::string Write() {
    json_.BeginObject();
    json_.Key("openapi").String("3.0.3");
    WriteInfo();
    json_.Key("paths").BeginObject();
    for (const JsonCall& call : JsonCalls()) WriteCall(call);
    for (const RerankPath& path : RerankPaths()) WriteRerank(path);
    WriteBatch();
    for (const auto& page : kPages) WritePage(page[0], page[1], page[2]);
    json_.EndObject();
    WriteComponents();
    json_.EndObject();
    return json_.text() + "\n";
  }

 private:
  void WriteInfo() {
    json_.Key("info").BeginObject();
    json_.Key("title").String("Sortition");
    json_.Key("version").String(Version());
    json_.Key("description")
        .String(
            "Ranks, selects and labels candidates at random and returns the "
            "exact probability of every answer. Bodies are the proto3 JSON "
            "form of the messages: fields have the names given here, or these "
            "in lowerCamelCase; 64-bit integers are strings; NaN, Infinity "
            "and -Infinity are strings; unknown fields are errors. Some "
            "shorter forms are taken, too: rows as lists of lists, candidates "
            "as a list of objects, columns as an object of lists, a single "
            "feedback as the body, integers as ids.");
    json_.EndObject();
  }

  void WriteCall(const JsonCall& call) {
    const auto* const method =
        pool_.FindMethodByName(absl::StrCat(call.service, ".", call.method));
    CHECK(method != nullptr);
    BeginPost({call.path, std::string(call.method), CommentOf(method),
               call.default_seconds},
              method->input_type());
    WriteContent("application/json", SchemaOf(method->output_type()));
    EndPost();
  }

  void WriteRerank(const RerankPath& path) {
    const Descriptor* const input = FindMessage("RerankRequest");
    const bool is_list = path.api_version.empty();
    BeginPost({path.path, absl::StrCat("Rerank", path.api_version),
               CommentOf(input), kRerankSeconds},
              input);
    const std::string output =
        SchemaOf(FindMessage(is_list ? "TextRank" : "RerankResponse"));
    is_list ? WriteListContent(output)
            : WriteContent("application/json", output);
    EndPost();
  }

  void WriteBatch() {
    const Descriptor* const input = FindMessage("BatchRequest");
    BeginPost({kBatchPath, "Batch", CommentOf(input), kRerankSeconds}, input);
    WriteContent("application/json", SchemaOf(FindMessage("BatchResponse")));
    EndPost();
  }

  struct Post {
    absl::string_view path;
    std::string operation_id;
    std::string description;
    double default_seconds;
  };

  // Writes a POST up to the content of its answer.
  void BeginPost(const Post& post, const Descriptor* input) {
    json_.Key(post.path).BeginObject().Key("post").BeginObject();
    json_.Key("operationId").String(post.operation_id);
    json_.Key("description").String(post.description);
    json_.Key("security").BeginArray();
    json_.BeginObject().Key("bearer").BeginArray().EndArray().EndObject();
    json_.BeginObject().EndObject();  // Where nobody needs a token.
    json_.EndArray();
    WriteTimeout(post.default_seconds);
    json_.Key("requestBody").BeginObject().Key("required").Bool(true);
    WriteContent("application/json", SchemaOf(input));
    json_.EndObject();
    json_.Key("responses").BeginObject();
    json_.Key("200").BeginObject().Key("description").String("The answer.");
  }

  void EndPost() {
    json_.EndObject();
    WriteError();
    json_.EndObject().EndObject().EndObject();
  }

  const Descriptor* FindMessage(absl::string_view name) const {
    const Descriptor* const found =
        pool_.FindMessageTypeByName(absl::StrCat("sortition.v1.", name));
    CHECK(found != nullptr);
    return found;
  }

  void WriteTimeout(double default_seconds) {
    json_.Key("parameters").BeginArray().BeginObject();
    json_.Key("name").String("X-Timeout-Ms").Key("in").String("header");
    json_.Key("description")
        .String("After how many milliseconds nobody waits for the answer.");
    json_.Key("schema").BeginObject().Key("type").String("integer");
    json_.Key("minimum").Count(1);
    json_.Key("maximum").Count(kMaxTimeoutMilliseconds);
    json_.Key("default").Number(1000 * default_seconds);
    json_.EndObject().EndObject().EndArray();
  }

  void WritePage(const char* path, const char* description, const char* type) {
    json_.Key(path).BeginObject().Key("get").BeginObject();
    json_.Key("description").String(description);
    json_.Key("responses").BeginObject();
    json_.Key("200").BeginObject().Key("description").String("The answer.");
    json_.Key("content").BeginObject().Key(type).BeginObject();
    json_.Key("schema").BeginObject().Key("type").String(
        absl::StartsWith(type, "text/") ? "string" : "object");
    json_.EndObject().EndObject().EndObject().EndObject();
    WriteError();
    json_.EndObject().EndObject().EndObject();
  }

  void WriteError() {
    json_.Key("default").BeginObject();
    json_.Key("description")
        .String(
            "An error: INVALID_ARGUMENT and FAILED_PRECONDITION are 400, "
            "UNAUTHENTICATED 401, PERMISSION_DENIED 403, NOT_FOUND 404, "
            "ABORTED 409, RESOURCE_EXHAUSTED 429, INTERNAL 500, UNIMPLEMENTED "
            "501, UNAVAILABLE 503, DEADLINE_EXCEEDED 504. 429 and 503 say in "
            "Retry-After when to try again.");
    WriteContent("application/json", "Error");
    json_.EndObject();
  }

  void WriteContent(const char* type, const std::string& schema) {
    json_.Key("content").BeginObject().Key(type).BeginObject();
    json_.Key("schema").BeginObject();
    json_.Key("$ref").String(Reference(schema));
    json_.EndObject().EndObject().EndObject();
  }

  void WriteListContent(const std::string& schema) {
    json_.Key("content").BeginObject().Key("application/json").BeginObject();
    json_.Key("schema").BeginObject().Key("type").String("array");
    json_.Key("items").BeginObject();
    json_.Key("$ref").String(Reference(schema));
    json_.EndObject().EndObject().EndObject().EndObject();
  }

  void WriteComponents() {
    json_.Key("components").BeginObject();
    json_.Key("securitySchemes").BeginObject().Key("bearer").BeginObject();
    json_.Key("type").String("http").Key("scheme").String("bearer");
    json_.EndObject().EndObject();
    json_.Key("schemas").BeginObject();
    WriteErrorSchema();
    // Messages are found while others are written.
    for (auto next = messages_.begin(); next != messages_.end();
         next = messages_.begin()) {
      const auto [name, message] = *next;
      messages_.erase(next);
      json_.Key(name);
      WriteMessage(message);
    }
    json_.EndObject().EndObject();
  }

  void WriteErrorSchema() {
    json_.Key("Error").BeginObject().Key("type").String("object");
    json_.Key("required").BeginArray().String("code").String("message");
    json_.EndArray().Key("properties").BeginObject();
    json_.Key("code").BeginObject().Key("type").String("string");
    json_.Key("description").String("The name of the gRPC status code.");
    json_.EndObject();
    json_.Key("message").BeginObject().Key("type").String("string");
    json_.Key("description")
        .String("What is wrong: field, value, and what is permitted.");
    json_.EndObject().EndObject().EndObject();
  }

  // Returns the name of the schema, which is written sooner or later.
  std::string SchemaOf(const Descriptor* message) {
    const std::string name = SchemaName(message);
    if (known_.emplace(name, message).second) messages_.emplace(name, message);
    return name;
  }

  void WriteMessage(const Descriptor* message) {
    json_.BeginObject().Key("type").String("object");
    const std::string comment = CommentOf(message);
    if (!comment.empty()) json_.Key("description").String(comment);
    json_.Key("additionalProperties").Bool(false);
    json_.Key("properties").BeginObject();
    for (int i = 0; i < message->field_count(); ++i) {
      json_.Key(message->field(i)->name());
      WriteField(message->field(i));
    }
    json_.EndObject().EndObject();
  }

  void WriteField(const FieldDescriptor* field) {
    json_.BeginObject();
    std::string comment = CommentOf(field);
    if (const auto* const choice = field->real_containing_oneof()) {
      comment = absl::StrCat(comment, comment.empty() ? "" : " ",
                             "(At most one of the fields of \"", choice->name(),
                             "\" may be set.)");
    }
    if (!comment.empty()) json_.Key("description").String(comment);
    if (field->is_map()) {
      json_.Key("type").String("object").Key("additionalProperties");
      json_.BeginObject();
      WriteType(field->message_type()->map_value());
      json_.EndObject();
    } else if (field->is_repeated()) {
      json_.Key("type").String("array");
      const auto limit = limits_.find(field->full_name());
      if (limit != limits_.end() && limit->second.max_items.has_value()) {
        json_.Key("maxItems").Count(*limit->second.max_items);
      }
      json_.Key("items").BeginObject();
      WriteType(field);
      json_.EndObject();
    } else {
      WriteType(field);
    }
    json_.EndObject();
  }

  // Writes the keys of the type of one value.
  void WriteType(const FieldDescriptor* field) {
    const auto write = [&](const char* type, const char* format) {
      json_.Key("type").String(type);
      if (*format != '\0') json_.Key("format").String(format);
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return write("boolean", "");
      case FieldDescriptor::CPPTYPE_INT32:
        write("integer", "int32");
        return WriteRange(field, -2147483648.0, 2147483647.0);
      case FieldDescriptor::CPPTYPE_UINT32:
        write("integer", "int64");
        return WriteRange(field, 0, 4294967295.0);
      case FieldDescriptor::CPPTYPE_INT64:
        return write("string", "int64");
      case FieldDescriptor::CPPTYPE_UINT64:
        return write("string", "uint64");
      case FieldDescriptor::CPPTYPE_FLOAT:
        write("number", "float");
        return WriteRange(field, std::nullopt, std::nullopt);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        write("number", "double");
        return WriteRange(field, std::nullopt, std::nullopt);
      case FieldDescriptor::CPPTYPE_STRING:
        return WriteString(field);
      case FieldDescriptor::CPPTYPE_ENUM:
        return WriteEnum(field->enum_type());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        // Any JSON is a schema without a type.
        if (field->message_type()->full_name() == "google.protobuf.Value") {
          return;
        }
        if (field->message_type()->full_name() == "google.protobuf.Struct") {
          return write("object", "");
        }
        // A reference stands alone in its object.
        json_.Key("allOf").BeginArray().BeginObject();
        json_.Key("$ref").String(Reference(SchemaOf(field->message_type())));
        json_.EndObject().EndArray();
    }
  }

  void WriteString(const FieldDescriptor* field) {
    json_.Key("type").String("string");
    if (field->type() == FieldDescriptor::TYPE_BYTES) {
      json_.Key("format").String("byte");
    }
    const auto limit = limits_.find(field->full_name());
    if (limit != limits_.end() && limit->second.max_bytes.has_value()) {
      json_.Key("maxLength").Count(*limit->second.max_bytes);
    }
  }

  void WriteEnum(const google::protobuf::EnumDescriptor* type) {
    json_.Key("type").String("string").Key("enum").BeginArray();
    for (int i = 0; i < type->value_count(); ++i) {
      json_.String(type->value(i)->name());
    }
    json_.EndArray();
  }

  // Writes the range of a number, where there is one: that of the field before
  // that of its type.
  void WriteRange(const FieldDescriptor* field, std::optional<double> min,
                  std::optional<double> max) {
    bool is_above_min = false;
    if (field->options().HasExtension(model::v1::range)) {
      const auto& range = field->options().GetExtension(model::v1::range);
      if (range.has_min()) min = range.has_zero() ? 0 : range.min();
      if (range.has_max()) max = range.max();
      is_above_min = range.above_min() && !range.has_zero();
    }
    const auto limit = limits_.find(field->full_name());
    if (limit != limits_.end()) {
      if (limit->second.min.has_value()) min = limit->second.min;
      if (limit->second.max.has_value()) max = limit->second.max;
      is_above_min = limit->second.is_above_min;
    }
    if (min.has_value()) json_.Key("minimum").Number(*min);
    if (is_above_min) json_.Key("exclusiveMinimum").Bool(true);
    if (max.has_value()) json_.Key("maximum").Number(*max);
  }

  google::protobuf::DescriptorPool pool_;
  const std::map<std::string, FieldLimits> limits_;
  JsonWriter json_;
  std::map<std::string, const Descriptor*> known_;
  std::map<std::string, const Descriptor*> messages_;  // Not written yet.
};

}  // namespace

std::string OpenApiDocument(const config::v1::RequestLimits& limits) {
  return Document(limits).Write();
}

}  // namespace sortition
