const { encode } = require("@acme/core");

module.exports.run = (text) => encode(text);
