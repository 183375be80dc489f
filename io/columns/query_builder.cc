#include "io/columns/query_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using sortition::v1::Column;

}  // namespace

void QueryBuilder::Start(std::string id, uint64_t line) {
  started_ = true;
  num_unlabelled_ = 0;
  query_ = {};
  query_.id = std::move(id);
  query_.line = line;
  columns_.assign(schema_.size(), nullptr);
}

uint32_t QueryBuilder::NumRows(const Column& column,
                               const ColumnSchema& schema) const {
  switch (schema.type()) {
    case ColumnSchema::NUMBER:
      return static_cast<uint32_t>(column.numbers().values_size());
    case ColumnSchema::CATEGORY:
      return static_cast<uint32_t>(column.categories().values_size());
    case ColumnSchema::CATEGORY_SET:
      return static_cast<uint32_t>(column.category_sets().offsets_size() - 1);
    case ColumnSchema::TEXT:
      return static_cast<uint32_t>(column.texts().values_size());
    default:
      return static_cast<uint32_t>(column.vectors().values_size()) /
             schema.size();
  }
}

void QueryBuilder::AppendMissing(const ColumnSchema& schema,
                                 Column* column) const {
  column->add_missing(NumRows(*column, schema));
  switch (schema.type()) {
    case ColumnSchema::NUMBER:
      column->mutable_numbers()->add_values(0);
      break;
    case ColumnSchema::CATEGORY:
      column->mutable_categories()->add_values("");
      break;
    case ColumnSchema::CATEGORY_SET: {
      auto* const sets = column->mutable_category_sets();
      sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
      break;
    }
    case ColumnSchema::TEXT:
      column->mutable_texts()->add_values("");
      break;
    default:
      for (uint32_t j = 0; j < schema.size(); ++j) {
        column->mutable_vectors()->add_values(0);
      }
  }
}

Column* QueryBuilder::At(size_t index) {
  const ColumnSchema& schema = schema_.column(index);
  const bool is_query = schema.scope() == ColumnSchema::QUERY;
  Column*& column = columns_[index];
  if (column == nullptr) {
    column =
        is_query ? query_.columns.add_query() : query_.columns.add_candidate();
    column->set_name(schema.name());
    if (schema.type() == ColumnSchema::CATEGORY_SET) {
      column->mutable_category_sets()->add_offsets(0);
    } else if (schema.type() == ColumnSchema::VECTOR) {
      column->mutable_vectors()->set_size(schema.size());
    }
  }
  while (!is_query && NumRows(*column, schema) < num_candidates()) {
    AppendMissing(schema, column);
  }
  return column;
}

void QueryBuilder::SetNumber(size_t column, double value) {
  At(column)->mutable_numbers()->add_values(value);
}

void QueryBuilder::SetText(size_t column, absl::string_view value) {
  if (schema_.column(column).type() == ColumnSchema::TEXT) {
    At(column)->mutable_texts()->add_values(std::string(value));
  } else {
    At(column)->mutable_categories()->add_values(std::string(value));
  }
}

void QueryBuilder::SetSet(size_t column,
                          std::span<const absl::string_view> values) {
  auto* const sets = At(column)->mutable_category_sets();
  for (const absl::string_view value : values) {
    sets->add_values(std::string(value));
  }
  sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
}

absl::Status QueryBuilder::SetVector(size_t column,
                                     std::span<const float> values) {
  const ColumnSchema& schema = schema_.column(column);
  if (values.size() != schema.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column '", schema.name(), "' has a vector of ",
                     values.size(), " numbers, must have ", schema.size()));
  }
  At(column)->mutable_vectors()->mutable_values()->Add(values.begin(),
                                                       values.end());
  return absl::OkStatus();
}

void QueryBuilder::SetMissing(size_t column) {
  AppendMissing(schema_.column(column), At(column));
}

void QueryBuilder::SetCandidateId(absl::string_view id) {
  query_.candidate_ids.resize(query_.relevances.size());
  query_.candidate_ids.emplace_back(id);
}

void QueryBuilder::AddCandidate(uint32_t relevance) {
  query_.relevances.push_back(relevance);
}

void QueryBuilder::AddUnlabelledCandidate() {
  ++num_unlabelled_;
  AddCandidate();
}

absl::Status QueryBuilder::Complete() {
  started_ = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] != nullptr) At(i);
  }
  query_.columns.set_num_candidates(num_candidates());
  query_.has_labels = num_unlabelled_ < num_candidates();
  if (!query_.candidate_ids.empty()) {
    query_.candidate_ids.resize(num_candidates());
  }
  return bound_.Bind(schema_, query_.columns);
}

absl::Status QueryBuilder::Finish(std::vector<LabelledColumns>* queries) {
  if (!started_) return absl::OkStatus();
  RETURN_IF_ERROR(Complete());
  queries->push_back(std::move(query_));
  return absl::OkStatus();
}

absl::Status QueryBuilder::Finish(sortition::v1::Columns* columns) {
  RETURN_IF_ERROR(Complete());
  *columns = std::move(query_.columns);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ParseRelevance(absl::string_view text) {
  uint32_t relevance = 0;
  if (ParseNumber(text, &relevance) && relevance <= kMostRelevance) {
    return relevance;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("label is '", Shown(text), "', must be an integer in [0, ",
                   kMostRelevance, "]"));
}

absl::Status AtLine(const absl::Status& status, const std::string& path,
                    uint64_t line) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(path, ":", line, ": ", status.message()));
}

}  // namespace sortition
