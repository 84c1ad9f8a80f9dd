module.exports = require('./nothing.js');
