#include "cli/site/hosting.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace polygraph::cli::site {
namespace {

constexpr std::string_view immutable = "public, max-age=31536000, immutable", changing = "no-cache";

using Field = std::pair<std::string_view, std::string>;

std::vector<Field> fields_of_all(const std::string& policy) {
  return {{"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Embedder-Policy", "require-corp"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Content-Security-Policy", policy}};
}

std::string headers_file(const std::string& base, const std::vector<std::string>& pages, const std::string& policy) {
  std::string out =
      "# Read by Netlify, Cloudflare Pages and others at the root of what is deployed: where this folder is mounted below the\n"
      "# root, add these lines to the file there.\n";
  const auto rule = [&](const std::string& path, std::string_view caching) {
    out += path + '\n';
    for (const auto& [name, value] : fields_of_all(policy)) out += fmt::format("  {}: {}\n", name, value);
    out += fmt::format("  Cache-Control: {}\n", caching);
  };
  // Rules that overlap would be joined with a comma: every path is named by one alone.
  rule(base, changing);
  for (const auto& page : pages) rule(base + page, changing);
  rule(base + "assets/*", immutable);
  return out;
}

std::string nginx_file(const std::string& base, const std::string& policy) {
  std::string fields;
  for (const auto& [name, value] : fields_of_all(policy)) fields += fmt::format("  add_header {} \"{}\" always;\n", name, value);
  const std::string bare = base.substr(0, base.size() - 1);
  const std::string redirect = bare.empty() ? bare : fmt::format("location = {} {{\n  return 301 {};\n}}\n", bare, base);
  return fmt::format(
      "# For a server block; FOLDER is this folder. nginx keeps no add_header of an outer block once an inner one has its own:\n"
      "# they stand in both.\n"
      "{4}"
      "location {0} {{\n"
      "  alias FOLDER/;\n"
      "  index index.html;\n"
      "  gzip_static on;\n"
      "  # brotli_static on;  # where nginx has the Brotli module\n"
      "{1}"
      "  add_header Cache-Control \"{2}\" always;\n"
      "}}\n"
      "location {0}assets/ {{\n"
      "  alias FOLDER/assets/;\n"
      "  gzip_static on;\n"
      "  # brotli_static on;\n"
      "{1}"
      "  add_header Cache-Control \"{3}\";\n"
      "}}\n",
      base, fields, changing, immutable, redirect);
}

std::string apache_file(const std::string& policy) {
  std::string fields;
  for (const auto& [name, value] : fields_of_all(policy)) fields += fmt::format("  Header always set {} \"{}\"\n", name, value);
  return fmt::format(
      "# Copy to .htaccess in this folder (mod_headers and mod_rewrite; AllowOverride FileInfo), or into its <Directory> block.\n"
      "DirectoryIndex index.html\n"
      "AddType text/javascript .js\n"
      "AddType application/wasm .wasm\n"
      "<IfModule mod_headers.c>\n"
      "{}"
      "  Header set Cache-Control \"{}\"\n"
      "  <If \"%{{REQUEST_URI}} =~ m#/assets/#\">\n"
      "    Header set Cache-Control \"{}\"\n"
      "  </If>\n"
      "</IfModule>\n"
      "# The compressed variants that stand beside the files.\n"
      "<IfModule mod_rewrite.c>\n"
      "  RewriteEngine On\n"
      "  RewriteCond %{{HTTP:Accept-Encoding}} \\bbr\\b\n"
      "  RewriteCond %{{REQUEST_FILENAME}}.br -f\n"
      "  RewriteRule ^(.+)$ $1.br [L]\n"
      "  RewriteCond %{{HTTP:Accept-Encoding}} \\bgzip\\b\n"
      "  RewriteCond %{{REQUEST_FILENAME}}.gz -f\n"
      "  RewriteRule ^(.+)$ $1.gz [L]\n"
      "</IfModule>\n"
      "<FilesMatch \"\\.html\\.(br|gz)$\">\n  ForceType \"text/html; charset=utf-8\"\n</FilesMatch>\n"
      "<FilesMatch \"\\.js\\.(br|gz)$\">\n  ForceType \"text/javascript; charset=utf-8\"\n</FilesMatch>\n"
      "<FilesMatch \"\\.css\\.(br|gz)$\">\n  ForceType \"text/css; charset=utf-8\"\n</FilesMatch>\n"
      "<FilesMatch \"\\.json\\.(br|gz)$\">\n  ForceType application/json\n</FilesMatch>\n"
      "<FilesMatch \"\\.svg\\.(br|gz)$\">\n  ForceType image/svg+xml\n</FilesMatch>\n"
      "<FilesMatch \"\\.wasm\\.(br|gz)$\">\n  ForceType application/wasm\n</FilesMatch>\n"
      "<FilesMatch \"\\.polygraph\\.(br|gz)$\">\n  ForceType application/octet-stream\n</FilesMatch>\n"
      "<FilesMatch \"\\.br$\">\n  RemoveLanguage .br\n  Header set Content-Encoding br\n  Header append Vary Accept-Encoding\n  <IfModule mod_env.c>\n    SetEnv no-gzip 1\n  </IfModule>\n</FilesMatch>\n"
      "<FilesMatch \"\\.gz$\">\n  RemoveEncoding .gz\n  Header set Content-Encoding gzip\n  Header append Vary Accept-Encoding\n  <IfModule mod_env.c>\n    SetEnv no-gzip 1\n  </IfModule>\n</FilesMatch>\n",
      fields, changing, immutable);
}

}  // namespace

std::map<std::string, std::string> hosting_files(const std::string& base, const std::vector<std::string>& pages, const std::string& policy) {
  return {{"_headers", headers_file(base, pages, policy)}, {"hosting/nginx.conf", nginx_file(base, policy)}, {"hosting/apache.htaccess", apache_file(policy)}};
}

}  // namespace polygraph::cli::site
