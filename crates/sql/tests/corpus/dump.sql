CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */;
/*!50503 SET NAMES utf8mb4 */;
USE `d`;
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
DROP TABLE IF EXISTS `c`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `c` (
  `a` int DEFAULT NULL,
  `p` bigint unsigned DEFAULT NULL,
  `y` year DEFAULT NULL,
  KEY `p` (`p`),
  CONSTRAINT `f` FOREIGN KEY (`p`) REFERENCES `p` (`id`) ON DELETE CASCADE ON UPDATE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
/*!40101 SET character_set_client = @saved_cs_client */;
LOCK TABLES `c` WRITE;
/*!40000 ALTER TABLE `c` DISABLE KEYS */;
INSERT INTO `c` VALUES
(1,NULL,2024);
/*!40000 ALTER TABLE `c` ENABLE KEYS */;
UNLOCK TABLES;
DROP TABLE IF EXISTS `p`;
CREATE TABLE `p` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `code` char(3) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL DEFAULT 'abc',
  `e` enum('a','b''c','ü') DEFAULT 'a',
  `s` set('x','y') NOT NULL DEFAULT '',
  `d` decimal(12,4) DEFAULT NULL,
  `ts` timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `b` bit(9) DEFAULT b'101',
  `j` json DEFAULT NULL,
  `g` int GENERATED ALWAYS AS ((`d` * 2)) VIRTUAL,
  `h` varchar(20) GENERATED ALWAYS AS (concat(`code`,_latin1'-')) STORED,
  `t` text COMMENT 'a ''comment''',
  `v` varbinary(16) DEFAULT 0x00FF,
  `x` int DEFAULT ((1 + 2)) /*!80023 INVISIBLE */,
  PRIMARY KEY (`id`),
  UNIQUE KEY `k1` (`code`,`d` DESC),
  KEY `k2` (`t`(10)),
  KEY `k3` ((lower(`code`))) /*!80000 INVISIBLE */,
  CONSTRAINT `c1` CHECK ((`d` > 0)) /*!80016 NOT ENFORCED */
) ENGINE=InnoDB AUTO_INCREMENT=79 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='t';
LOCK TABLES `p` WRITE;
/*!40000 ALTER TABLE `p` DISABLE KEYS */;
INSERT INTO `p` (`id`, `code`, `e`, `s`, `d`, `ts`, `b`, `j`, `g`, `h`, `t`, `v`, `x`) VALUES (77,'q\'','a','',1.5000,'2026-11-24 08:20:57.447',0x0001,'{\"a\": [1]}',3,'q\'-',NULL,0x00,3),
(78,'\\','a','',NULL,'2026-11-24 08:20:57.447',NULL,'null',NULL,'\\-',NULL,0x78,3);
/*!40000 ALTER TABLE `p` ENABLE KEYS */;
DROP TABLE IF EXISTS `w`;
/*!50001 DROP VIEW IF EXISTS `w`*/;
SET @saved_cs_client     = @@character_set_client;
SET character_set_client = utf8mb4;
/*!50001 CREATE VIEW `w` AS SELECT
 NULL AS `i`,
 NULL AS `n` */;
SET character_set_client = @saved_cs_client;
DROP TABLE IF EXISTS `w2`;
/*!50001 DROP VIEW IF EXISTS `w2`*/;
/*!50001 CREATE VIEW `w2` AS SELECT
 NULL AS `a`,
 NULL AS `p`,
 NULL AS `y` */;
/*!50001 SET @saved_cs_client          = @@character_set_client */;
/*!50001 SET @saved_cs_results         = @@character_set_results */;
/*!50001 SET @saved_col_connection     = @@collation_connection */;
/*!50001 SET character_set_client      = utf8mb3 */;
/*!50001 SET character_set_results     = utf8mb3 */;
/*!50001 SET collation_connection      = utf8mb3_general_ci */;
/*!50001 CREATE ALGORITHM=TEMPTABLE */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY INVOKER */
/*!50001 VIEW `w` (`i`,`n`) AS select `p`.`id` AS `id`,count(0) AS `count(*)` from (`p` join `c` on((`c`.`p` = `p`.`id`))) where (`p`.`e` <> 'a') group by `p`.`id` having (count(0) > 1) */;
/*!50001 SET character_set_client      = @saved_cs_client */;
/*!50001 SET character_set_results     = @saved_cs_results */;
/*!50001 SET collation_connection      = @saved_col_connection */;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `w2` AS select `c`.`a` AS `a`,`c`.`p` AS `p`,`c`.`y` AS `y` from `c` where (`c`.`a` > 3) */
/*!50002 WITH LOCAL CHECK OPTION */;
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;
/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;
