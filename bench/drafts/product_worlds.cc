#include "bench/drafts/product_worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

using sortition::v1::Column;
using sortition::v1::Columns;

constexpr uint32_t kNumCandidates = ProductWorld::kCandidates;
const double kMissing = std::numeric_limits<double>::quiet_NaN();

// Probability with which a user stops reading after each rank.
constexpr double kLeaves = 0.3;

double Logistic(double score) { return 1 / (1 + std::exp(-score)); }

Column* AddColumn(const std::string& name,
                  google::protobuf::RepeatedPtrField<Column>* columns) {
  Column* const column = columns->Add();
  column->set_name(name);
  return column;
}

// Small numbers are frequent, as 1 / (1 + number).
uint64_t Zipf(uint64_t n, RandomSequence* random) {
  return static_cast<uint64_t>(
             std::pow(static_cast<double>(n) + 1, random->Uniform())) -
         1;
}

constexpr std::array<const char*, 8> kThings = {
    "shoes", "jacket", "lamp", "chair", "phone", "bottle", "tent", "watch"};
constexpr std::array<const char*, 6> kKinds = {"red",   "running", "wooden",
                                               "smart", "light",   "winter"};
constexpr std::array<const char*, 3> kSegments = {"budget", "family", "pro"};
constexpr std::array<const char*, 4> kDevices = {"phone", "tablet", "desktop",
                                                 "tv"};

}  // namespace

std::vector<log::v1::BanditTuple> ProductWorld::MakeLog(int n, uint64_t seed,
                                                        uint32_t ranks) const {
  RandomSequence random(SeedKey(seed));
  std::vector<log::v1::BanditTuple> tuples;
  std::vector<double> sells;
  for (int i = 0; i < n; ++i) {
    log::v1::BanditTuple& tuple = tuples.emplace_back();
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_decision_id(absl::StrCat("d", i));
    decision.set_model("default");
    decision.set_num_candidates(kCandidates);
    *decision.mutable_columns() = MakeQuery(&random, &sells);
    tuple.set_has_feedback(true);
    if (ranks == 0) {
      decision.set_action_kind(log::v1::SELECT);
      decision.add_action(static_cast<int32_t>(random.Below(kCandidates)));
      decision.set_log_propensity(-std::log(kCandidates));
      tuple.set_reward(random.Uniform() < sells[decision.action(0)] ? 1 : 0);
    } else {
      AddOrder(ranks, sells, &random, &tuple);
    }
  }
  return tuples;
}

void ProductWorld::AddOrder(uint32_t ranks, std::span<const double> sells,
                            RandomSequence* random,
                            log::v1::BanditTuple* tuple) {
  log::v1::Decision& decision = *tuple->mutable_decision();
  decision.set_action_kind(log::v1::RANK);
  decision.set_top_k(ranks);
  std::vector<int32_t> left(kCandidates);
  std::iota(left.begin(), left.end(), 0);
  bool reads = true;
  double log_propensity = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const auto taken =
        left.begin() + static_cast<ptrdiff_t>(random->Below(left.size()));
    const double conditional = -std::log(static_cast<double>(left.size()));
    decision.add_action(*taken);
    decision.add_conditional_log_propensities(conditional);
    log_propensity += conditional;
    if (reads && random->Uniform() < sells[static_cast<size_t>(*taken)]) {
      log::v1::RankReward* const reward = tuple->add_rank_rewards();
      reward->set_rank(rank);
      reward->set_reward(1);
      reward->set_count(1);
      tuple->set_reward(1);
      reads = false;
    }
    left.erase(taken);
    if (random->Uniform() < kLeaves) reads = false;
  }
  decision.set_log_propensity(log_propensity);
}

std::string SearchShop::written_spec() const {
  return R"(
schema {
  column { name: "search" type: TEXT scope: QUERY }
  column { name: "segment" type: CATEGORY scope: QUERY }
  column { name: "title" type: TEXT }
  column { name: "price" type: NUMBER }
  column { name: "stars" type: NUMBER }
  column { name: "stock" type: NUMBER }
  column { name: "brand" type: CATEGORY }
}
transform { text_pair { query: "search" candidate: "title" standardise: true
                        measure: [BM25, IDF_OVERLAP, COVERAGE] } }
transform { number { column: "price" log1p: true standardise: true } }
transform { number { column: "price" quantile_bins: 10 } }
transform { number { column: "stars" standardise: true
                     missing_indicator: true } }
transform { number { column: "stock" quantile_bins: 4 } }
transform { vocabulary { column: "brand" most_values: 100 } }
transform { cross { left: "segment" right: "price" bits: 4 } }
transform { cross { left: "segment" right: "brand" bits: 9 } }
)";
}

Columns SearchShop::MakeQuery(RandomSequence* random,
                              std::vector<double>* sells) const {
  Columns columns;
  columns.set_num_candidates(kNumCandidates);
  const uint64_t thing = random->Below(kThings.size());
  const uint64_t kind = random->Below(kKinds.size());
  const uint64_t segment = random->Below(kSegments.size());
  AddColumn("search", columns.mutable_query())
      ->mutable_texts()
      ->add_values(absl::StrCat(kKinds[kind], " ", kThings[thing]));
  AddColumn("segment", columns.mutable_query())
      ->mutable_categories()
      ->add_values(kSegments[segment]);
  auto* const candidate = columns.mutable_candidate();
  for (const char* const name :
       {"title", "price", "stars", "stock", "brand", "sku", "currency"}) {
    AddColumn(name, candidate);
  }
  sells->clear();
  for (uint32_t i = 0; i < kNumCandidates; ++i) {
    const uint64_t own_thing =
        random->Uniform() < 0.5 ? thing : random->Below(kThings.size());
    const uint64_t own_kind = random->Below(kKinds.size());
    const double log_price = 3.5 + random->Normal();
    const bool has_stars = random->Uniform() < 0.7;
    const double stars = 1 + 0.5 * static_cast<double>(random->Below(9));
    const double stock = random->Uniform() < 0.2
                             ? 0
                             : static_cast<double>(1 + random->Below(50));
    const uint64_t brand = Zipf(30, random);
    candidate->at(0).mutable_texts()->add_values(
        absl::StrCat(kKinds[own_kind], " ", kThings[own_thing], " model ",
                     random->Below(1000)));
    candidate->at(1).mutable_numbers()->add_values(std::exp(log_price));
    candidate->at(2).mutable_numbers()->add_values(has_stars ? stars
                                                             : kMissing);
    candidate->at(3).mutable_numbers()->add_values(stock);
    candidate->at(4).mutable_categories()->add_values(
        absl::StrCat("brand", brand));
    candidate->at(5).mutable_categories()->add_values(
        absl::StrCat("sku", random->Below(1000000000)));
    candidate->at(6).mutable_categories()->add_values("EUR");
    const double best = 2.5 + static_cast<double>(segment);
    double score = -2;
    score += own_thing == thing ? 2 : 0;
    score += own_kind == kind ? 1 : 0;
    score -= 0.8 * (log_price - best) * (log_price - best);
    score += has_stars ? 0.5 * (stars - 3) : -0.3;
    score -= stock == 0 ? 3 : 0;
    score += (brand + segment) % 3 == 0 ? 0.7 : -0.2;
    sells->push_back(Logistic(score + 1));
  }
  return columns;
}

std::string PageShop::written_spec() const {
  return R"(
schema {
  column { name: "device" type: CATEGORY scope: QUERY }
  column { name: "age" type: NUMBER scope: QUERY }
  column { name: "price" type: NUMBER }
  column { name: "sold" type: NUMBER }
  column { name: "stars" type: NUMBER }
  column { name: "discount" type: NUMBER missing: true }
  column { name: "category" type: CATEGORY }
  column { name: "tags" type: CATEGORY_SET }
}
transform { number { column: "price" standardise: true } }
transform { number { column: "sold" log1p: true standardise: true } }
transform { number { column: "stars" standardise: true } }
transform { number { column: "discount" standardise: true
                     missing_indicator: true } }
transform { relative { feature: "price" } }
transform { polynomial { feature: ["discount", "stars"] only_crosses: true } }
transform { vocabulary { column: "category" } }
transform { vocabulary { column: "tags" } }
transform { cross { left: "device" right: "category" bits: 8 } }
)";
}

Columns PageShop::MakeQuery(RandomSequence* random,
                            std::vector<double>* sells) const {
  Columns columns;
  columns.set_num_candidates(kNumCandidates);
  const uint64_t device = random->Below(kDevices.size());
  AddColumn("device", columns.mutable_query())
      ->mutable_categories()
      ->add_values(kDevices[device]);
  AddColumn("age", columns.mutable_query())
      ->mutable_numbers()
      ->add_values(static_cast<double>(18 + random->Below(60)));
  auto* const candidate = columns.mutable_candidate();
  const bool sends_discounts = random->Uniform() < 0.5;
  for (const char* const name :
       {"price", "sold", "stars", "category", "tags", "listed"}) {
    AddColumn(name, candidate);
  }
  if (sends_discounts) AddColumn("discount", candidate);
  candidate->at(4).mutable_category_sets()->add_offsets(0);
  std::vector<double> prices;
  for (uint32_t i = 0; i < kNumCandidates; ++i) {
    prices.push_back(5 + 95 * random->Uniform());
  }
  sells->clear();
  for (uint32_t i = 0; i < kNumCandidates; ++i) {
    const double sold = std::floor(std::exp(2 + 2 * random->Normal()));
    const double stars = 1 + 4 * random->Uniform();
    const double discount = 0.6 * random->Uniform();
    const uint64_t category = random->Below(12);
    const bool is_new = random->Uniform() < 0.3;
    candidate->at(0).mutable_numbers()->add_values(prices[i]);
    candidate->at(1).mutable_numbers()->add_values(sold);
    candidate->at(2).mutable_numbers()->add_values(stars);
    candidate->at(3).mutable_categories()->add_values(
        absl::StrCat("category", category));
    auto* const tags = candidate->at(4).mutable_category_sets();
    if (is_new) tags->add_values("new");
    if (random->Uniform() < 0.5) {
      tags->add_values(absl::StrCat("tag", random->Below(20)));
    }
    tags->add_offsets(static_cast<uint32_t>(tags->values_size()));
    // When the product was listed: an instant that never comes again.
    candidate->at(5).mutable_numbers()->add_values(
        static_cast<double>(1700000000 + random->Below(100000000)));
    if (sends_discounts) {
      candidate->at(6).mutable_numbers()->add_values(discount);
    }
    const auto cheaper = static_cast<double>(
        std::count_if(prices.begin(), prices.end(),
                      [&](double price) { return price < prices[i]; }));
    double score = -1.5;
    score += 0.35 * (std::log1p(sold) - 2);
    score += 1.5 * (1 - cheaper / 3.5);
    score += sends_discounts ? 3 * discount * (stars - 3) : 0;
    score += (category + 3 * device) % 4 == 0 ? 1.2 : -0.3;
    score += is_new ? 0.8 : 0;
    sells->push_back(Logistic(score));
  }
  return columns;
}

}  // namespace sortition
