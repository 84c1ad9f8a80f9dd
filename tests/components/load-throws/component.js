const settings = undefined;
module.exports = { name: settings.name };
