#include "sidecar/spools/record_wire.h"

#include <cstdint>
#include <limits>
#include <string>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "io/segments/parse_message.h"

namespace sortition {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

uint32_t LengthDelimitedTag(int field) {
  return WireFormatLite::MakeTag(field,
                                 WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

CodedInputStream Input(absl::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
}

// Sets `view` to the bytes of a length-delimited field whose tag was just read.
bool ReadView(CodedInputStream* input, absl::string_view all,
              absl::string_view* view) {
  uint32_t size = 0;
  if (!input->ReadVarint32(&size)) return false;
  const auto start = static_cast<size_t>(input->CurrentPosition());
  if (size > all.size() - start) return false;
  *view = all.substr(start, size);
  return input->Skip(static_cast<int>(size));
}

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(
      std::string("malformed ").append(what.data(), what.size()));
}

// Appends the first of the doubles of a packed field, as a field of its own.
void AppendFirst(absl::string_view doubles, uint32_t tag, std::string* bytes) {
  if (doubles.empty()) return;
  uint8_t head[6];  // A tag has five bytes at most, the size one.
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, head);
  *end++ = sizeof(double);
  bytes->append(reinterpret_cast<const char*>(head),
                static_cast<size_t>(end - head));
  bytes->append(doubles.data(), sizeof(double));
}

}  // namespace

absl::StatusOr<RecordView> ViewRecord(absl::string_view payload) {
  if (payload.size() > std::numeric_limits<int>::max()) {
    return Malformed("LogRecord: larger than 2 GiB");
  }
  CodedInputStream input = Input(payload);
  const uint32_t tag = input.ReadTag();
  RecordView view;
  if (WireFormatLite::GetTagWireType(tag) !=
          WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
      !ReadView(&input, payload, &view.bytes) ||
      input.CurrentPosition() != static_cast<int>(payload.size())) {
    return Malformed("LogRecord");
  }
  view.kind = static_cast<log::v1::LogRecord::RecordCase>(
      WireFormatLite::GetTagFieldNumber(tag));
  return view;
}

absl::StatusOr<DecisionWire> ViewDecision(absl::string_view decision) {
  constexpr uint32_t kTimeTag = WireFormatLite::MakeTag(
      log::v1::Decision::kTimeUsFieldNumber, WireFormatLite::WIRETYPE_VARINT);
  const uint32_t id_tag =
      LengthDelimitedTag(log::v1::Decision::kDecisionIdFieldNumber);
  CodedInputStream input = Input(decision);
  DecisionWire view;
  bool has_time = false;
  // Our own writer puts both first; then this stops after two fields.
  while (view.id.empty() || !has_time) {
    const uint32_t tag = input.ReadTag();
    if (tag == 0) break;
    bool is_good = true;
    if (tag == id_tag) {
      is_good = ReadView(&input, decision, &view.id);
    } else if (tag == kTimeTag) {
      uint64_t time_us = 0;
      is_good = input.ReadVarint64(&time_us);
      view.time_us = static_cast<int64_t>(time_us);
      has_time = true;
    } else {
      is_good = WireFormatLite::SkipField(&input, tag);
    }
    if (!is_good) return Malformed("Decision");
  }
  if (view.id.empty()) return Malformed("Decision: decision_id is missing");
  view.rest = decision.substr(static_cast<size_t>(input.CurrentPosition()));
  return view;
}

absl::StatusOr<ShadowViewWire> ViewShadowView(absl::string_view view) {
  using log::v1::ShadowView;
  constexpr uint32_t kTimeTag = WireFormatLite::MakeTag(
      ShadowView::kTimeUsFieldNumber, WireFormatLite::WIRETYPE_VARINT);
  constexpr uint32_t kVersionTag = WireFormatLite::MakeTag(
      ShadowView::kVersionFieldNumber, WireFormatLite::WIRETYPE_VARINT);
  const uint32_t id_tag =
      LengthDelimitedTag(ShadowView::kDecisionIdFieldNumber);
  CodedInputStream input = Input(view);
  ShadowViewWire wire;
  while (const uint32_t tag = input.ReadTag()) {
    uint64_t number = 0;
    if (tag == id_tag) {
      if (!ReadView(&input, view, &wire.decision_id)) {
        return Malformed("ShadowView");
      }
    } else if (tag == kTimeTag || tag == kVersionTag) {
      if (!input.ReadVarint64(&number)) return Malformed("ShadowView");
      if (tag == kVersionTag) wire.version = number;
      if (tag == kTimeTag) wire.time_us = static_cast<int64_t>(number);
    } else if (!WireFormatLite::SkipField(&input, tag)) {
      return Malformed("ShadowView");
    }
  }
  if (wire.decision_id.empty() ||
      input.CurrentPosition() != static_cast<int>(view.size())) {
    return Malformed("ShadowView");
  }
  return wire;
}

absl::StatusOr<DecidingModel> ViewModel(absl::string_view decision) {
  constexpr int kVersion = log::v1::Decision::kVersionFieldNumber;
  const uint32_t model_tag =
      LengthDelimitedTag(log::v1::Decision::kModelFieldNumber);
  CodedInputStream input = Input(decision);
  DecidingModel model;
  while (const uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) > kVersion) return model;
    const bool is_good = tag == model_tag
                             ? ReadView(&input, decision, &model.name)
                         : tag == WireFormatLite::MakeTag(
                                      kVersion, WireFormatLite::WIRETYPE_VARINT)
                             ? input.ReadVarint64(&model.version)
                             : WireFormatLite::SkipField(&input, tag);
    if (!is_good) return Malformed("Decision");
  }
  return model;
}

absl::StatusOr<DecidedAction> ViewAction(absl::string_view decision) {
  using log::v1::Decision;
  constexpr uint32_t kCandidatesTag = WireFormatLite::MakeTag(
      Decision::kNumCandidatesFieldNumber, WireFormatLite::WIRETYPE_VARINT);
  constexpr uint32_t kKindTag = WireFormatLite::MakeTag(
      Decision::kActionKindFieldNumber, WireFormatLite::WIRETYPE_VARINT);
  const uint32_t action_tag = LengthDelimitedTag(Decision::kActionFieldNumber);
  CodedInputStream input = Input(decision);
  DecidedAction action;
  uint64_t kind = 0;
  const uint32_t trace_tag =
      LengthDelimitedTag(Decision::kTraceContextFieldNumber);
  absl::string_view chosen;  // Packed.
  absl::string_view trace;
  size_t begin = 0;  // Of the field.
  while (const uint32_t tag = input.ReadTag()) {
    const bool is_good =
        tag == kCandidatesTag ? input.ReadVarint32(&action.num_candidates)
        : tag == kKindTag     ? input.ReadVarint64(&kind)
        : tag == action_tag   ? ReadView(&input, decision, &chosen)
        : tag == trace_tag    ? ReadView(&input, decision, &trace)
                              : WireFormatLite::SkipField(&input, tag);
    if (!is_good) return Malformed("Decision");
    const auto end = static_cast<size_t>(input.CurrentPosition());
    if (tag == trace_tag) {
      action.trace_field = decision.substr(begin, end - begin);
    }
    begin = end;
  }
  uint32_t first = 0;
  CodedInputStream actions = Input(chosen);
  const bool has_first = actions.ReadVarint32(&first);
  action.is_empty = (kind == log::v1::SELECT && has_first &&
                     WireFormatLite::ZigZagDecode32(first) == -1) ||
                    (kind == log::v1::SUBSET && !has_first);
  return action;
}

uint64_t HashAnswer(const DecisionWire& wire, absl::string_view trace_field) {
  // The caller of a copy may be traced anew, or not at all. Records of another
  // order of fields, in which it comes before the rest, are not our own.
  const bool is_inside =
      !trace_field.empty() && trace_field.data() >= wire.rest.data();
  if (!is_inside) return HashBytes(wire.rest).low;
  const auto before =
      static_cast<size_t>(trace_field.data() - wire.rest.data());
  std::string answer(wire.rest.substr(0, before));
  const absl::string_view after = wire.rest.substr(before + trace_field.size());
  answer.append(after.data(), after.size());
  return HashBytes(answer).low;
}

absl::StatusOr<absl::string_view> ViewTraceContext(absl::string_view decision) {
  const uint32_t trace_tag =
      LengthDelimitedTag(log::v1::Decision::kTraceContextFieldNumber);
  CodedInputStream input = Input(decision);
  absl::string_view context;
  while (const uint32_t tag = input.ReadTag()) {
    const bool is_good = tag == trace_tag
                             ? ReadView(&input, decision, &context)
                             : WireFormatLite::SkipField(&input, tag);
    if (!is_good) return Malformed("Decision");
  }
  return context;
}

absl::StatusOr<absl::string_view> ViewUnit(absl::string_view decision) {
  const uint32_t unit_tag =
      LengthDelimitedTag(log::v1::Decision::kUnitIdFieldNumber);
  CodedInputStream input = Input(decision);
  absl::string_view unit;
  while (const uint32_t tag = input.ReadTag()) {
    const bool is_good = tag == unit_tag
                             ? ReadView(&input, decision, &unit)
                             : WireFormatLite::SkipField(&input, tag);
    if (!is_good) return Malformed("Decision");
  }
  return unit;
}

absl::Status ParseChoice(absl::string_view decision, std::string* kept,
                         log::v1::Decision* choice) {
  using log::v1::Decision;
  const uint32_t conditionals_tag =
      LengthDelimitedTag(Decision::kConditionalLogPropensitiesFieldNumber);
  kept->clear();
  CodedInputStream input = Input(decision);
  while (true) {
    const auto begin = static_cast<size_t>(input.CurrentPosition());
    const uint32_t tag = input.ReadTag();
    if (tag == 0) break;
    if (tag == conditionals_tag) {
      absl::string_view conditionals;
      if (!ReadView(&input, decision, &conditionals) ||
          conditionals.size() % sizeof(double) != 0) {
        return Malformed("Decision");
      }
      AppendFirst(conditionals, tag, kept);
      continue;
    }
    if (!WireFormatLite::SkipField(&input, tag)) return Malformed("Decision");
    switch (WireFormatLite::GetTagFieldNumber(tag)) {
      case Decision::kPolicyFieldNumber:
      case Decision::kEligibleFieldNumber:
      case Decision::kCandidateIdsFieldNumber:
      case Decision::kSparseFieldNumber:
      case Decision::kDenseValuesFieldNumber:
      case Decision::kAttributesFieldNumber:
      case Decision::kColumnsFieldNumber:
        break;
      default: {
        const auto end = static_cast<size_t>(input.CurrentPosition());
        kept->append(decision.data() + begin, end - begin);
      }
    }
  }
  if (!input.ConsumedEntireMessage() || !ParseMessage(*kept, choice)) {
    return Malformed("Decision");
  }
  return absl::OkStatus();
}

absl::StatusOr<log::v1::SpoolPosition> ViewPosition(absl::string_view message) {
  static_assert(log::v1::BanditTuple::kPositionFieldNumber == 1 &&
                log::v1::LateFeedback::kPositionFieldNumber == 1);
  CodedInputStream input = Input(message);
  absl::string_view bytes;
  log::v1::SpoolPosition position;
  if (input.ReadTag() != LengthDelimitedTag(1) ||
      !ReadView(&input, message, &bytes) || !ParseMessage(bytes, &position)) {
    return Malformed("tuple or late record: position is missing");
  }
  return position;
}

std::string TuplePrefix(const log::v1::BanditTuple& tuple,
                        uint64_t decision_bytes) {
  DCHECK(!tuple.has_decision());
  const uint32_t record_tag =
      LengthDelimitedTag(log::v1::LogRecord::kTupleFieldNumber);
  const uint32_t decision_tag =
      LengthDelimitedTag(log::v1::BanditTuple::kDecisionFieldNumber);
  const uint64_t tuple_bytes =
      tuple.ByteSizeLong() + CodedOutputStream::VarintSize32(decision_tag) +
      CodedOutputStream::VarintSize64(decision_bytes) + decision_bytes;
  std::string prefix;
  google::protobuf::io::StringOutputStream stream(&prefix);
  {
    CodedOutputStream output(&stream);
    output.WriteTag(record_tag);
    output.WriteVarint64(tuple_bytes);
    tuple.SerializeWithCachedSizes(&output);
    output.WriteTag(decision_tag);
    output.WriteVarint64(decision_bytes);
  }
  return prefix;
}

}  // namespace sortition
