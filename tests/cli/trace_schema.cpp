#include "tests/cli/trace_schema.hpp"

#include <fstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace polygraph::cli::test {

std::string schema_errors(const nlohmann::json& document, const std::string& name) {
  const auto published = nlohmann::json::parse(std::ifstream(std::string(POLYGRAPH_SOURCE_DIR) + "/assets/schemas/" + name + ".schema.json"));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(published), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results)) return {};
  std::string words = "invalid:\n";
  for (valijson::ValidationResults::Error error; results.popError(error); words += ": " + error.description + "\n") {
    for (const auto& part : error.context) words += part;
  }
  return words;
}

}  // namespace polygraph::cli::test
