#include "server/rpc/wire_counts.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <climits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/schema/schema.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "sortition/v1/columns.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint64_t kMaxUnknown = 1000;
// Deeper messages are left to the parser, which refuses them: no request nests
// so deep.
constexpr int kMaxDepth = 32;

// Returns whether the parser takes an entry with this tag for `field`. It keeps
// others as unknown.
bool IsKnown(const FieldDescriptor* field, uint32_t tag) {
  if (field == nullptr) return false;
  const auto type = WireFormatLite::GetTagWireType(tag);
  return (field->is_packable() &&
          type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
         type == WireFormatLite::WireTypeForFieldType(
                     static_cast<WireFormatLite::FieldType>(field->type()));
}

class Counter {
 public:
  explicit Counter(const config::v1::RequestLimits& limits) : limits_(limits) {}

  // Counts what `input` holds up to its present limit. `path` is that of the
  // message, with a dot at its end. Stops without an error where the bytes are
  // no message.
  absl::Status Count(const Descriptor* type, const std::string& path, int depth,
                     CodedInputStream* input) {
    while (const uint32_t tag = input->ReadTag()) {
      const FieldDescriptor* const field =
          type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (!IsKnown(field, tag) && ++num_unknown_ > kMaxUnknown) {
        return absl::InvalidArgumentError(absl::StrCat(
            "more than ", kMaxUnknown, " fields are not known, the last is ",
            path, WireFormatLite::GetTagFieldNumber(tag), ": must be at most ",
            kMaxUnknown));
      }
      if (IsKnown(field, tag) &&
          field->cpp_type() >= FieldDescriptor::CPPTYPE_STRING) {
        RETURN_IF_ERROR(CountEntry(*field, path, depth, input));
      } else if (!WireFormatLite::SkipField(input, tag)) {
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

 private:
  // Counts an entry of `field`, a text or message, and what is in it.
  absl::Status CountEntry(const FieldDescriptor& field, const std::string& path,
                          int depth, CodedInputStream* input) {
    if (field.is_repeated() && ++counts_[&field] > Limit(field)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, field.name(), " has more than ", Limit(field),
                       " entries: must have at most ", Limit(field)));
    }
    uint32_t length = 0;
    if (!input->ReadVarint32(&length) || length > INT_MAX) {
      return absl::OkStatus();
    }
    if (field.message_type() == nullptr || depth == kMaxDepth) {
      input->Skip(static_cast<int>(length));
      return absl::OkStatus();
    }
    if (length == 0) return absl::OkStatus();
    const auto outer = input->PushLimit(static_cast<int>(length));
    RETURN_IF_ERROR(Count(field.message_type(),
                          absl::StrCat(path, field.name(), "."), depth + 1,
                          input));
    input->Skip(input->BytesUntilLimit());
    input->PopLimit(outer);
    return absl::OkStatus();
  }

  uint64_t Limit(const FieldDescriptor& field) const {
    const Descriptor* const within = field.containing_type();
    if (within == v1::Columns::descriptor()) return Schema::kMostColumns;
    if (within == v1::Categories::descriptor() ||
        within == v1::CategorySets::descriptor() ||
        within == v1::Texts::descriptor()) {
      return limits_.max_column_values();
    }
    return field.message_type() == v1::Feedback::descriptor()
               ? limits_.max_feedback_batch()
               : limits_.max_candidates();
  }

  const config::v1::RequestLimits& limits_;
  std::map<const FieldDescriptor*, uint64_t> counts_;
  uint64_t num_unknown_ = 0;
};

}  // namespace

absl::Status CheckWireCounts(const Descriptor* type,
                             const config::v1::RequestLimits& limits,
                             grpc::ByteBuffer* payload) {
  // Reads the buffer without taking anything from it.
  grpc::ProtoBufferReader reader(payload);
  if (!reader.status().ok()) return absl::OkStatus();
  CodedInputStream input(&reader);
  return Counter(limits).Count(type, "", 0, &input);
}

}  // namespace sortition
