module.exports = require('@strapi/strapi').factories.createCoreRouter('api::occupation.occupation', {
  only: ['find'],
  config: { find: { auth: false } },
})
