module.exports = require('@strapi/strapi').factories.createCoreService('api::occupation.occupation')
