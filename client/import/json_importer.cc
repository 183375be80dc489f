#include "client/import/json_importer.h"

#include "client/import/imported_tuple.h"

namespace sortition {

void JsonImporter::Line(const InputLine& line, const InputPlace& place) {
  log::v1::BanditTuple* const tuple = record_.mutable_tuple();
  tuple->Clear();
  const auto object = json_.Parse(line);
  absl::Status status = object.status();
  if (status.ok()) status = Read(**object, tuple);
  if (status.ok()) SetModel(options_, tuple->mutable_decision());
  status.ok() ? sink_->Add(record_, place) : sink_->Bad(place, status);
}

}  // namespace sortition
