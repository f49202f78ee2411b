module.exports = require('@strapi/strapi').factories.createCoreController('api::occupation.occupation')
